"""How good overhead labels are: figures for a machine, a short text for a person, and what looks wrong in words."""

import math
from typing import Any

import numpy as np

from donkey_aicc.overhead.joining import OverheadLabels
from donkey_aicc.overhead.setup_file import OverheadSetup
from donkey_aicc.overhead.tracking import MarkerPath
from donkey_aicc.overhead.video import Video

LITTLE_SEEN = 0.9  # below this share of frames the tracking deserves a look
UNSURE_OFFSET_S = 0.05  # one frame at 20 Hz
FAR_OFF_M = 2.0


def quality_report(video: Video, setup: OverheadSetup, path: MarkerPath, labels: OverheadLabels) -> dict[str, Any]:
    """JSON-ready; a figure that is not defined is None."""
    seen_s, alignment = path.times_s[path.seen], labels.alignment
    cte = labels.cte_m[np.isfinite(labels.cte_m)]
    report = {
        "video": {
            "file": video.path.name,
            "size_px": list(video.info.size_px),
            "frames": len(path.times_s),
            "seconds": _figure(path.times_s[-1]),
            "marker_seen_share": _figure(path.seen.mean()),
            "longest_unseen_s": _figure(np.diff(seen_s).max(initial=0.0)),
            "frames_with_rivals_share": _figure((path.rivals > 0).mean()),
        },
        "setup": {"floor_residual_m": _figure(setup.floor.residual_m), "centreline_m": _figure(setup.centreline.length_m)},
        "alignment": {
            "offset_s": _figure(alignment.offset_s),
            "estimated": alignment.estimated,
            "residual_s": _figure(alignment.residual_s),
            "drift_s": _figure(alignment.drift_s),
            "steering_correlation": _figure(alignment.steering_correlation),
            "throttle_correlation": _figure(alignment.throttle_correlation),
            "part_offsets_s": [_figure(part) for part in alignment.part_offsets_s],
        },
        "labels": {
            "tub": labels.tub.path.resolve().name,
            "records": len(labels.cte_m),
            "labelled": len(cte),
            "unlabelled_share": _figure(1.0 - labels.labelled_share),
            "cte_m": {f"p{share}": _figure(np.percentile(cte, share)) for share in (1, 25, 50, 75, 99)},
            "median_abs_cte_m": _figure(np.median(np.abs(cte))),
            "laps": _figure(_laps(setup, labels)),
        },
    }
    report["warnings"] = _warnings(report, labels)
    return report


def report_text(report: dict[str, Any]) -> str:
    """A few lines."""
    video, alignment, labels = report["video"], report["alignment"], report["labels"]
    source = "estimated" if alignment["estimated"] else "given"
    lines = [
        f"video    {video['file']}: {video['frames']} frames, {video['seconds']:.1f} s, marker seen in "
        f"{100 * video['marker_seen_share']:.1f} % (longest gap {video['longest_unseen_s']:.2f} s)",
        f"offset   {alignment['offset_s']:.3f} s ({source}), residual {_shown(alignment['residual_s'], 'ms', 1000)}, "
        f"drift {_shown(alignment['drift_s'], 'ms', 1000)}; correlation with steering "
        f"{_shown(alignment['steering_correlation'])}, with throttle {_shown(alignment['throttle_correlation'])}",
        f"labels   {labels['labelled']} of {labels['records']} records of {labels['tub']}, "
        f"{100 * labels['unlabelled_share']:.1f} % unlabelled; {labels['laps']:.1f} laps",
        f"cte      median |cte| {labels['median_abs_cte_m']:.3f} m, from {labels['cte_m']['p1']:.3f} to "
        f"{labels['cte_m']['p99']:.3f} m (1 % to 99 %), positive is right of the line",
    ]
    return "\n".join(lines + [f"warning  {warning}" for warning in report["warnings"]])


def _warnings(report: dict[str, Any], labels: OverheadLabels) -> list[str]:
    video, alignment, joined = report["video"], report["alignment"], report["labels"]
    found = []
    if video["marker_seen_share"] < LITTLE_SEEN:
        found.append(f"the marker is seen in only {100 * video['marker_seen_share']:.0f} % of the frames: widen its colour range")
    if not labels.tub.times_measured:
        found.append("the tub holds no usable times; 20 records a second are assumed")
    if (alignment["residual_s"] or 0.0) > UNSURE_OFFSET_S:
        found.append(f"parts of the drive disagree about the offset by {1000 * alignment['residual_s']:.0f} ms (rms)")
    if abs(alignment["drift_s"] or 0.0) > 2 * UNSURE_OFFSET_S:
        found.append(f"video and tub drift apart by {1000 * alignment['drift_s']:.0f} ms over the drive: unequal clocks")
    correlations = [value or 0.0 for value in (alignment["steering_correlation"], alignment["throttle_correlation"])]
    if max(correlations) < 0.7:
        found.append(f"commands explain the motion poorly (correlation {max(correlations):.2f}): look at the offset")
    if alignment["residual_s"] is None:
        found.append("the drive is too short to check the offset on parts of it (20 s are needed)")
    if joined["laps"] < 0:
        found.append("the car drives against the centreline's order: every sign is turned; set reverse in the setup")
    if max(abs(joined["cte_m"]["p1"]), abs(joined["cte_m"]["p99"])) > FAR_OFF_M:
        found.append(f"the car is up to {FAR_OFF_M:g} m or more from the line: check floor points and centreline")
    return found


def _laps(setup: OverheadSetup, labels: OverheadLabels) -> float:
    """Laps in the line's direction, negative against it."""
    along, _ = setup.centreline.project(labels.xy)
    steps = np.diff(along[np.isfinite(along)])
    length_m = setup.centreline.length_m
    return float(((steps + 0.5 * length_m) % length_m - 0.5 * length_m).sum() / length_m) if len(steps) else 0.0


def _figure(value: Any) -> float | None:
    number = float(value)
    return round(number, 5) if math.isfinite(number) else None


def _shown(value: float | None, unit: str = "", factor: float = 1.0) -> str:
    if value is None:
        return "unknown"
    return f"{factor * value:.0f} {unit}" if unit else f"{factor * value:.2f}"
