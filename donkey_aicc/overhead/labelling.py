"""The whole way from a video to a label file, a report and a picture.

The report says how good the labels are: figures for a machine, a short text for a person, and what looks wrong in words. The
picture shows the tracked path over the track, on a frame of the video.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path, write_atomic, write_json
from donkey_aicc.overhead.joining import OverheadLabels, join, read_trace, write_labels
from donkey_aicc.overhead.setup_file import OverheadSetup, load_setup
from donkey_aicc.overhead.tracking import MarkerPath, track_marker
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


_BITS = 4  # sub-pixel bits of cv2's drawing
_JUMP_S = 0.2  # sightings further apart are not joined by a line
_INK, _PAPER = (25, 25, 25), (255, 255, 255)
_LINE_BGR = (60, 60, 60)
_WIDTH_PX = 1280


def draw_path(frame_bgr: np.ndarray, setup: OverheadSetup, path: MarkerPath, title: str) -> np.ndarray:
    """(rows, columns, 3) uint8 BGR: path coloured by |cte| (blue 0, red its 99 % quantile), centreline dark, title below."""
    factor = min(1.0, _WIDTH_PX / frame_bgr.shape[1])
    image = cv2.resize(frame_bgr, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    image = cv2.addWeighted(image, 0.5, np.full_like(image, 255), 0.5, 0.0)  # pale, so that the path stands out
    line = setup.floor.to_pixel(setup.centreline.points[::5]) * factor
    cv2.polylines(image, [_fixed(line)], True, _PAPER, 4, cv2.LINE_AA, _BITS)
    cv2.polylines(image, [_fixed(line)], True, _LINE_BGR, 2, cv2.LINE_AA, _BITS)
    _draw_direction(image, line)
    distance = np.abs(setup.centreline.project(path.xy)[1])
    largest = float(np.nanquantile(distance, 0.99)) or 1.0
    shades = (255 * np.clip(np.nan_to_num(distance) / largest, 0, 1)).astype(np.uint8)
    colours = cv2.applyColorMap(shades[:, None], cv2.COLORMAP_TURBO)[:, 0].tolist()
    rows = np.flatnonzero(path.seen)
    points = _fixed(path.px * factor)
    for first, second in zip(rows[:-1], rows[1:], strict=True):
        if path.times_s[second] - path.times_s[first] <= _JUMP_S:
            cv2.line(image, points[first].tolist(), points[second].tolist(), colours[second], 2, cv2.LINE_AA, _BITS)
    return np.vstack([image, _caption(image.shape[1], largest, title)])


def save_picture(path: str | Path, bgr: np.ndarray) -> None:
    """Write a picture in one piece; the suffix chooses the format."""
    with atomic_path(path) as temporary:
        if not cv2.imwrite(str(temporary), bgr):
            raise AiccError(f"could not write the picture {path}")


def _fixed(points: np.ndarray) -> np.ndarray:
    return np.round(np.nan_to_num(points) * (1 << _BITS)).astype(np.int32)


def _draw_direction(image: np.ndarray, line: np.ndarray) -> None:
    """Arrows along the centreline: the sign of cte depends on the direction."""
    for start in range(0, len(line), max(1, len(line) // 8)):
        tail, head = _whole(line[start]), _whole(line[(start + 4) % len(line)])
        cv2.arrowedLine(image, tail, head, _LINE_BGR, 2, cv2.LINE_AA, 0, 0.5)


def _whole(point: np.ndarray) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))


def _caption(width: int, largest_m: float, title: str) -> np.ndarray:
    strip = np.full((44, width, 3), 255, np.uint8)
    ramp = cv2.applyColorMap(np.linspace(0, 255, 160).astype(np.uint8)[None].repeat(14, axis=0), cv2.COLORMAP_TURBO)
    left = max(0, width - 340)
    strip[15:29, left : left + 160] = ramp[:, : width - left]
    text = f"|cte| 0 to {largest_m:.2f} m"
    cv2.putText(strip, text, (left + 170, 27), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA)
    cv2.putText(strip, title, (12, 27), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA)
    return strip


REPORT_JSON, REPORT_TEXT, PICTURE = "report.json", "report.txt", "path.png"


@dataclass(frozen=True, eq=False)
class LabelRun:
    """What label_tub computed and where it put it."""

    path: MarkerPath
    labels: OverheadLabels
    report: dict[str, Any]
    text: str
    report_dir: Path


def label_tub(
    video_path: str | Path,
    setup_path: str | Path,
    tub_path: str | Path,
    out: str | Path,
    report_dir: str | Path | None = None,
    offset_s: float | None = None,
    with_tub_name: bool = False,
) -> LabelRun:
    """Track, align, join; write the label file, and the report beside it (default `<out>_report/`)."""
    out = Path(out)
    folder = Path(report_dir) if report_dir is not None else out.with_name(f"{out.stem}_report")
    for target in (out, folder):
        _refuse_inside(target, Path(tub_path))
    video = Video(video_path)
    setup = load_setup(setup_path, video.info.size_px)
    tub = read_trace(tub_path)
    path = track_marker(video, setup)
    labels = join(path, tub, setup.centreline, offset_s)
    report = quality_report(video, setup, path, labels)
    text = report_text(report)
    write_labels(out, labels, with_tub_name)
    write_json(folder / REPORT_JSON, report)
    write_atomic(folder / REPORT_TEXT, text + "\n")
    title = f"{video.path.name}: marker seen in {100 * path.seen.mean():.1f} %, {len(labels.cte_m)} records"
    save_picture(folder / PICTURE, draw_path(video.frame_at(0.0), setup, path, title))
    return LabelRun(path, labels, report, text, folder)


def _refuse_inside(target: Path, tub: Path) -> None:
    if target.resolve().is_relative_to(tub.resolve()):
        raise AiccError(f"{target} lies inside the tub {tub}, and tubs are only read; choose another place")
