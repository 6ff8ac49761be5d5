"""The demo's drives in words: means inside and outside of the faults, and what the governor changed."""

import math
from dataclasses import dataclass

import numpy as np

from donkey_aicc.replay.drive_picture import certainty, faults_of
from donkey_aicc.replay.run import Run

MEMORY_S = 5.0  # rho and delta look back this long
COLUMNS = ("certainty", "raw", "rho", "delta", "|cte| m")


def mean_rows(run: Run) -> list[tuple[str, np.ndarray]]:
    """(name, means of COLUMNS) over valid nominal ticks, then over each fault.

    `after` are the seconds behind a fault in which rho and delta still see it: they are not nominal.
    """
    columns = (certainty(run, "confidence"), certainty(run, "p_safe"), *(run.numbers[name] for name in ("rho", "delta")))
    table = np.stack([*columns, np.abs(run.numbers["cte"])], axis=1)
    ready, calm = run.numbers["scores_valid"] == 1.0, run.words["inject_protocol"] == ""
    after = np.zeros_like(calm)
    for _, _, stop in faults_of(run):
        after |= calm & (run.t > stop) & (run.t <= stop + MEMORY_S)
    rows = [("nominal", calm & ~after), ("after", after)]
    rows += [(name, (run.t >= start) & (run.t <= stop)) for name, start, stop in faults_of(run)]
    return [(name, np.nanmean(table[ready & own], axis=0)) for name, own in rows if (ready & own).any()]


@dataclass(frozen=True)
class Story:
    """What happened to one drive; seconds count from the start of the fault, NaN: never."""

    left_lane_s: float
    beyond_edge_m: float  # < 0: never came closer to the edge than that
    danger_s: float
    stopped_s: float
    reason: str
    stop_m: float = math.nan  # from the first push of the brake to where the car stands


def story_of(run: Run, half_width_m: float) -> Story:
    """Of a drive whose first fault lasts to its end."""
    words = {name: run.words.get(name, np.full(len(run), "")) for name in ("inject_protocol", "alarm", "action", "reason")}
    faulty = words["inject_protocol"] != ""
    begin = int(np.argmax(faulty)) if faulty.any() else len(run) - 1
    beyond = np.abs(run.numbers["cte"][begin:]) - half_width_m
    danger = words["alarm"][begin:] == "danger"

    def first_s(happened: np.ndarray) -> float:
        return float(run.t[begin + np.argmax(happened)] - run.t[begin]) if happened.any() else math.nan

    return Story(
        left_lane_s=first_s(beyond > 0.0),
        beyond_edge_m=float(np.nanmax(beyond)),
        danger_s=first_s(danger),
        stopped_s=first_s(words["action"][begin:] == "stopped"),
        reason=str(words["reason"][begin + np.argmax(danger)]) if danger.any() else "",
        stop_m=_stop_m(run, words["action"][begin:] == "stopped", begin),
    )


def _stop_m(run: Run, stopped: np.ndarray, begin: int) -> float:
    if not stopped.any() or not {"x", "y"} <= run.numbers.keys():
        return math.nan
    way = np.stack([run.numbers["x"], run.numbers["y"]], axis=1)[begin + int(np.argmax(stopped)) :].astype(np.float64)
    return float(np.hypot(*np.diff(way, axis=0).T).sum())


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
        far = f" after {100 * with_governor.stop_m:.0f} cm" if with_governor.stop_m == with_governor.stop_m else ""
        second += f", the car brakes, stands{far}"
    edge = 100 * with_governor.beyond_edge_m
    second += f" and stays {-edge:.0f} cm inside" if edge < 0 else f" and gets {edge:.0f} cm beyond the edge"
    return [first, second]
