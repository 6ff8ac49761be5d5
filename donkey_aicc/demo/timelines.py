"""The demo's drives over time.

One as the monitor saw it: certainty, rho, delta and |cte|, with the injected intervals shaded. One that a fault would have
ended and the governor saves, beside the same drive without it.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc import channels
from donkey_aicc.demo.recorded_drive import RecordedDrive
from donkey_aicc.files import atomic_path
from donkey_aicc.simulator.track import Track

MEMORY_S = 5.0  # rho and delta look back this long
LABELLED_S = 3.0  # shorter pauses are shaded without a word
COLOURS = {"dark": "#5b5f97", "blur": "#2a9d8f", "bias": "#e76f51", "latency": "#e9a820"}


@dataclass(frozen=True, eq=False)
class Timeline:
    """N ticks. Certainty is max(c, 1 - c), averaged over the horizons: 1 is sure either way, 0.5 is "cannot tell"."""

    time_s: np.ndarray
    certainty: np.ndarray  # of the calibrated confidence
    raw_certainty: np.ndarray  # of the predictor alone
    rho: np.ndarray
    delta: np.ndarray
    abs_cte_m: np.ndarray
    protocol: list[str]
    ready: np.ndarray  # bool: the scores were valid

    def intervals(self) -> list[tuple[str, float, float]]:
        """(protocol, from, to) in seconds of every injected stretch."""
        found: list[tuple[str, float, float]] = []
        for at, name in zip(self.time_s.tolist(), self.protocol, strict=True):
            if name and found and found[-1][0] == name and at - found[-1][2] < 0.5:
                found[-1] = (name, found[-1][1], at)
            elif name:
                found.append((name, at, at))
        return found


def read_timeline(drive: RecordedDrive, rate_hz: float) -> Timeline:
    """From a tub that was recorded with the monitor on."""
    return Timeline(
        time_s=np.arange(len(drive)) / rate_hz,
        certainty=_certainty(drive.values(channels.CONFIDENCE)),
        raw_certainty=_certainty(drive.values(channels.P_SAFE)),
        rho=drive.number(channels.RHO),
        delta=drive.number(channels.DELTA),
        abs_cte_m=np.abs(drive.cte_m),
        protocol=[str(value or "") for value in drive.values(channels.INJECT_PROTOCOL)],
        ready=np.array([bool(value) for value in drive.values(channels.SCORES_VALID)]),
    )


def _certainty(vectors: list[list[float] | None]) -> np.ndarray:
    values = [np.mean(np.maximum(vector, 1 - np.asarray(vector))) if vector else np.nan for vector in vectors]
    return np.array(values, dtype=float)


def summary_rows(timeline: Timeline) -> list[tuple[str, float, float, float, float, float]]:
    """(name, certainty, raw certainty, rho, delta, |cte|): means over valid nominal ticks, then over each interval.

    `after` are the seconds behind a fault in which rho and delta still see it: they are not nominal.
    """
    calm = np.array([not name for name in timeline.protocol])
    after = np.zeros_like(calm)
    for _, _, stop in timeline.intervals():
        after |= calm & (timeline.time_s > stop) & (timeline.time_s <= stop + MEMORY_S)
    rows = [(name, *_means(timeline, timeline.ready & own)) for name, own in (("nominal", calm & ~after), ("after", after))]
    rows = rows if after.any() else rows[:1]
    for name, start, stop in timeline.intervals():
        inside = timeline.ready & (timeline.time_s >= start) & (timeline.time_s <= stop)
        rows.append((name, *_means(timeline, inside)))
    return rows


def _means(timeline: Timeline, rows: np.ndarray) -> tuple[float, float, float, float, float]:
    columns = (timeline.certainty, timeline.raw_certainty, timeline.rho, timeline.delta, timeline.abs_cte_m)
    first, second, third, fourth, fifth = (float(np.nanmean(values[rows])) if rows.any() else np.nan for values in columns)
    return first, second, third, fourth, fifth


def draw_timeline(timeline: Timeline, path: str | Path) -> None:
    """Four panels over a common time axis."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True, gridspec_kw={"height_ratios": [1.6, 1, 1, 1]})
    certainty, rho, delta, cte = axes
    certainty.plot(timeline.time_s, _smooth(timeline.raw_certainty), color="#bbbbbb", linewidth=1.2, label="predictor alone")
    certainty.plot(timeline.time_s, _smooth(timeline.certainty), color="#12355b", linewidth=1.8, label="calibrated")
    certainty.set(ylabel="certainty", ylim=(0.5, 1.02))
    certainty.legend(loc="lower left", frameon=False, ncols=2)
    rho.plot(timeline.time_s, timeline.rho, color="#12355b", linewidth=1.4)
    rho.set(ylabel="rho", ylim=(-0.03, 1.05))
    delta.plot(timeline.time_s, timeline.delta, color="#12355b", linewidth=1.4)
    delta.set(ylabel="delta", ylim=(-0.03, 1.05))
    cte.plot(timeline.time_s, timeline.abs_cte_m, color="#12355b", linewidth=1.2)
    cte.set(ylabel="|cte| m", xlabel="seconds", xlim=(0, timeline.time_s[-1]))
    for name, start, stop in timeline.intervals():
        for axis in axes:
            axis.axvspan(start, stop, color=COLOURS.get(name, "#888888"), alpha=0.22, linewidth=0)
        certainty.text((start + stop) / 2, 1.0, name, ha="center", va="top", fontsize=11, color="#333333")
    _shade_warm_up(axes, timeline)
    figure.suptitle("One drive, four faults: how sure the safety prediction is of itself")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _shade_warm_up(axes, timeline: Timeline) -> None:
    starts = np.flatnonzero(np.diff(np.concatenate([[True], timeline.ready]).astype(int)) == -1)
    for start in starts:
        later = np.flatnonzero(timeline.ready[start:])
        stop = start + int(later[0]) if len(later) else len(timeline.time_s) - 1
        for axis in axes:
            axis.axvspan(timeline.time_s[start], timeline.time_s[stop], color="#000000", alpha=0.06, linewidth=0, hatch="//")
        if timeline.time_s[stop] - timeline.time_s[start] > LABELLED_S:
            axes[0].text(timeline.time_s[start] + 0.2, 0.97, "warming up", va="top", fontsize=8, color="#777777")


def _smooth(values: np.ndarray, ticks: int = 10) -> np.ndarray:
    """Running mean over half a second: single frames flicker."""
    known = np.isfinite(values)
    kernel = np.ones(ticks)
    total = np.convolve(np.where(known, values, 0.0), kernel)[: len(values)]
    count = np.convolve(known, kernel)[: len(values)]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


WITHOUT, WITH = "#d1495b", "#12355b"


@dataclass(frozen=True)
class Story:
    """What happened to one drive; seconds count from the start of the fault, NaN: never."""

    left_lane_s: float
    beyond_edge_m: float  # < 0: never came closer to the edge than that
    danger_s: float
    stopped_s: float
    reason: str


def story_of(drive: RecordedDrive, half_width_m: float, rate_hz: float) -> Story:
    """From a tub of the demo."""
    faulty = np.flatnonzero([bool(name) for name in drive.values(channels.INJECT_PROTOCOL)])
    begin = int(faulty[0]) if len(faulty) else len(drive) - 1
    beyond = np.abs(drive.cte_m[begin:]) - half_width_m
    alarms, actions = drive.values(channels.ALARM)[begin:], drive.values(channels.ACTION)[begin:]
    danger = _first([alarm == "danger" for alarm in alarms])
    reasons = drive.values(channels.REASON)[begin:]
    return Story(
        left_lane_s=_first((beyond > 0.0).tolist()) / rate_hz,
        beyond_edge_m=float(beyond.max()),
        danger_s=danger / rate_hz,
        stopped_s=_first([action == "stopped" for action in actions]) / rate_hz,
        reason="" if math.isnan(danger) else str(reasons[int(danger)]),
    )


def _first(happened: list[bool]) -> float:
    return float(happened.index(True)) if True in happened else math.nan


def told(without: Story, with_governor: Story, fault: str) -> list[str]:
    """Two sentences for a person."""
    if math.isnan(without.left_lane_s):
        first = f"without the governor the car stays in its lane under {fault}"
    else:
        first = f"without the governor the car leaves its lane {without.left_lane_s:.1f} s after {fault} begins"
        first += f" and gets {100 * without.beyond_edge_m:.0f} cm beyond the edge"
    if math.isnan(with_governor.danger_s):
        return [first, "with it there was no alarm"]
    second = f"with it the alarm comes after {with_governor.danger_s:.1f} s ({with_governor.reason})"
    if not math.isnan(with_governor.stopped_s):
        second += ", the car is stopped"
    edge = 100 * with_governor.beyond_edge_m
    second += f" and stays {-edge:.0f} cm inside" if edge < 0 else f" and gets {edge:.0f} cm beyond the edge"
    return [first, second]


def draw_pair(track: Track, without: np.ndarray, with_governor: np.ndarray, begin: int, title: str, path: Path) -> None:
    """without, with_governor: (N, 2) paths of the same seed; begin: frame at which the fault begins."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axis = figure.subplots()
    draw_lane(axis, track)
    for xy, colour, label in ((without, WITHOUT, "without governor"), (with_governor, WITH, "with governor")):
        axis.plot(*xy.T, color=colour, linewidth=2, label=label)
        axis.plot(*xy[-1], marker="o", color=colour)
    axis.plot(
        *with_governor[min(begin, len(with_governor) - 1)], marker="v", color="#444444", markersize=9, label="the fault begins"
    )
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    axis.set_title(title)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=100, format="png")


def draw_lane(axis: Any, track: Track) -> None:
    """Both edges of the lane."""
    line = np.vstack([track.centreline, track.centreline[:1]])
    along = np.gradient(line, axis=0)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
    for side in (-1.0, 1.0):
        axis.plot(*(line + side * track.half_width_m * normal).T, color="#bbbbbb", linewidth=1.2)
    axis.set_aspect("equal")
    axis.axis("off")
