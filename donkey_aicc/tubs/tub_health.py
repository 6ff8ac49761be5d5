"""The state of tubs: what was read, what was lost and why. Behind `donkey-aicc check` and every training report."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from donkey_aicc.tubs.drive import FULL_LENGTH
from donkey_aicc.tubs.timeline import Cut, cut_counts
from donkey_aicc.tubs.tub_contents import FATAL, LOSS, Finding

USABLE, USABLE_WITH_LOSSES, UNUSABLE = 0, 1, 2
AHEAD = (1, 5, 15, 50)  # frames, of which the report says how many seconds they are
AHEAD_SAID = " / ".join(map(str, AHEAD))
VERDICTS = ("usable", "usable with losses", "unusable")


@dataclass
class TubHealth:
    """One tub. Filled in by `tubs.load`; unknown numbers are NaN."""

    path: str
    name: str
    format: str = "unknown"
    records: int = 0
    deleted: int = 0
    usable: int = 0
    sessions: int = 0
    sequences: list[dict[str, int]] = field(default_factory=list)  # first and last index, frames
    too_short: int = 0  # sequences dropped for being shorter than asked for
    cuts: list[Cut] = field(default_factory=list)
    rate_hz: float = math.nan
    jitter_ms: float = math.nan
    time_source: str = "recorded"
    image_sizes: dict[str, int] = field(default_factory=dict)  # for example '160x120 RGB' -> records
    image_problems: dict[str, int] = field(default_factory=dict)  # for example 'truncated' -> records
    repeat_share: float = math.nan  # share of frames that are byte-identical to the frame before
    keys: dict[str, int] = field(default_factory=dict)  # recorded key -> records that have it
    action_sources: dict[str, int] = field(default_factory=dict)
    protocols: dict[str, int] = field(default_factory=dict)  # '' -> nominal records
    home: str = ""  # the world it was driven in
    label_source: str = "none"
    labelled: int = 0
    safe_share: float = math.nan
    departures: int | None = None  # times the lane was left; None: nothing recorded tells
    not_driving: int = 0  # frames of a parked or carried car
    findings: list[Finding] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 usable, 1 usable with losses, 2 unusable."""
        if not self.sequences or any(finding.level == FATAL for finding in self.findings):
            return UNUSABLE
        return USABLE_WITH_LOSSES if any(finding.level == LOSS for finding in self.findings) else USABLE

    @property
    def verdict(self) -> str:
        return VERDICTS[self.exit_code]

    def to_json(self) -> dict[str, Any]:
        """Plain values; NaN becomes None."""
        stored = asdict(self) | {"verdict": self.verdict, "exit_code": self.exit_code, "cut_reasons": cut_counts(self.cuts)}
        return {name: _without_nan(value) for name, value in stored.items()}

    def to_text(self) -> str:
        """A report for a person."""
        lines = [f"{self.name} ({self.format}): {self.verdict}", f"  {self.path}"]
        if self.records:
            lines += [f"  {title:<10} {value}" for title, value in self._rows() if value]
        return "\n".join(lines + [f"  {finding.level}: {finding.message} [{finding.code}]" for finding in self.findings])

    def _rows(self) -> list[tuple[str, str]]:
        lengths = sorted((sequence["frames"] for sequence in self.sequences), reverse=True)
        full = sum(length >= FULL_LENGTH for length in lengths)
        longest = f", {full} of at least {FULL_LENGTH} frames (longest {lengths[0]})" if lengths else ""
        short = f", {self.too_short} more dropped as too short" if self.too_short else ""
        labels = f"{self.label_source}: {self.labelled} frames labelled, {_share(self.safe_share)} of them safe"
        protocols = {name or "nominal": count for name, count in self.protocols.items()}
        return [
            ("records", f"{self.records}, {self.usable} usable, {self.deleted} marked deleted, {self.sessions} sessions"),
            ("sequences", f"{len(lengths)}{longest}{short}"),
            ("cuts", _counts(cut_counts(self.cuts))),
            ("rate", self._rate()),
            ("images", _counts(self.image_sizes)),
            ("bad images", _counts(self.image_problems)),
            ("repeats", f"{_share(self.repeat_share)} of the frames are byte-identical to the one before"),
            ("commands", _counts(self.action_sources)),
            ("protocols", _counts(protocols) if set(self.protocols) - {""} else ""),
            ("driven in", self.home),
            ("labels", labels if self.label_source != "none" else "none: good for the world model, not for the safety predictor"),
            ("departures", "unknown: no lane width, no mark" if self.departures is None else f"{self.departures}"),
            ("driving", f"{self.usable - self.not_driving} frames; {self.not_driving} parked or carried" if self.usable else ""),
            ("keys", ", ".join(sorted(self.keys))),
        ]

    def _rate(self) -> str:
        if math.isnan(self.rate_hz):
            return "unknown"
        if self.time_source != "recorded":
            return f"{self.rate_hz:.1f} Hz assumed, because the recorded times cannot be used"
        ahead = " / ".join(f"{frames / self.rate_hz:.2g}" for frames in AHEAD)
        return f"{self.rate_hz:.1f} Hz, jitter {self.jitter_ms:.1f} ms; {AHEAD_SAID} frames ahead are {ahead} s"


@dataclass
class DataReport:
    """All tubs that were read together, and the threshold their labels share."""

    tubs: list[TubHealth]
    tau: float | None = None
    cte_centre: float = 0.0
    balanced: bool = False  # tau was chosen so that about half of the driving is safe

    @property
    def exit_code(self) -> int:
        """The worst tub decides, but a pile is unusable only if every tub is."""
        codes = [tub.exit_code for tub in self.tubs]
        if not codes or min(codes) == UNUSABLE:
            return UNUSABLE
        return USABLE if max(codes) == USABLE else USABLE_WITH_LOSSES

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": VERDICTS[self.exit_code],
            "exit_code": self.exit_code,
            "tau": self.tau,
            "cte_centre": self.cte_centre,
            "tubs": [tub.to_json() for tub in self.tubs],
        }

    def to_text(self) -> str:
        frames = sum(tub.usable for tub in self.tubs)
        sequences = sum(len(tub.sequences) for tub in self.tubs)
        threshold = "" if self.tau is None else f", the label safe means |cte - {self.cte_centre:g}| <= {self.tau:.4g}"
        total = f"{len(self.tubs)} tubs: {VERDICTS[self.exit_code]}, {sequences} sequences, {frames} usable frames{threshold}"
        if self.tau is not None and self.balanced:
            total += (
                f"\n  within {self.tau:.4g} of the centre is half of your driving, the paper's balanced definition, not the edge "
                "of the road; for that, give half the lane's width in the unit of the cte: --lane-half-width"
            )
        return "\n\n".join([*(tub.to_text() for tub in self.tubs), total])


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _share(share: float) -> str:
    return "unknown share" if math.isnan(share) else f"{100 * share:.1f} %"


def _without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
