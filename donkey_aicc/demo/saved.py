"""A drive that a fault would have ended and the governor saves, beside the same drive without it."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc import channels
from donkey_aicc.demo.recorded_drive import RecordedDrive
from donkey_aicc.files import atomic_path
from donkey_aicc.simulator.track import Track

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
