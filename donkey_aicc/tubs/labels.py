"""Safety labels of single frames: 1 safe, 0 unsafe, NaN unlabelled; and the same looked up k steps ahead.

Departure: the car has left its lane. A notion of its own beside the paper's `safe`, which half of nominal driving is not.

What counts: |cte| beyond the lane's half width, a frame that a person marked, the last frame before a person took over, or a 1 in
the column `departed` of a label file. A label file's `safe` says nothing of it: a race car is unsafe all the time. Alarm, hazard
and governor know only this notion.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.untrusted import read_table

SAME_MS = 2.0  # by which a stored time may differ from the record's: rounding
TAKEOVER_WINDOW_S = 1.0  # a driver needs about a second to see the trouble and act


def safe_from_cte(cte: np.ndarray, tau: float, centre: float = 0.0) -> np.ndarray:
    """(N,) float32: 1 where |cte - centre| <= tau, NaN where cte is unknown. All in the unit of the recorded cte."""
    if not (math.isfinite(tau) and tau > 0):
        raise ConfigError(f"tau must be a number > 0 in the unit of the recorded cte, got {tau}")
    # float32 first, so that a tau equal to a recorded value counts it as safe whatever the caller's precision
    distance = np.abs(np.asarray(cte, dtype=np.float32) - np.float32(centre))
    return np.where(np.isfinite(distance), distance <= np.float32(tau), np.nan).astype(np.float32)


def auto_tau(sequences: Iterable[Drive], centre: float = 0.0) -> float:
    """The tau that makes about half of the nominal frames with a known cte safe: their median |cte - centre|.

    Frames with an injected anomaly count only if there are no others.
    """
    listed = list(sequences)
    cte = np.concatenate([sequence.cte for sequence in listed]) if listed else np.empty(0, dtype=np.float32)
    nominal = np.concatenate([sequence.protocol == "" for sequence in listed]) if listed else np.empty(0, dtype=bool)
    known = np.isfinite(cte)
    if not known.any():
        raise AiccError("tau auto needs a recorded cte, and no record has one; give labels by CSV, takeovers or marks")
    used = known & nominal if (known & nominal).any() else known
    tau = float(np.median(np.abs(cte[used] - np.float32(centre))))
    if tau <= 0:
        raise AiccError(
            "tau auto: half of the recorded cte lie exactly on the centre; give --tau in the unit of the recorded cte"
        )
    return tau


def is_pilot_mode(mode: np.ndarray) -> np.ndarray:
    """(N,) bool: the pilot had at least the steering (donkeycar: local, local_angle, formerly pilot names)."""
    names = [name for name in set(mode.tolist()) if name.startswith(("local", "pilot"))]
    return np.isin(mode, names)


def safe_from_takeovers(mode: np.ndarray, times_s: np.ndarray, window_s: float = TAKEOVER_WINDOW_S) -> np.ndarray:
    """(N,) float32: pilot frames are unsafe up to window_s before a takeover (pilot mode -> user), else safe.

    Frames driven by the person say nothing about the pilot: unlabelled.
    """
    piloted = is_pilot_mode(mode)
    safe = np.where(piloted, 1.0, np.nan).astype(np.float32)
    for taken in np.flatnonzero(piloted[:-1] & (mode[1:] == "user")) + 1:
        before = (times_s >= times_s[taken] - window_s) & (times_s < times_s[taken])
        safe[before & piloted] = 0.0
    return safe


def takeover_count(mode: np.ndarray) -> int:
    """How often a person took the wheel from the pilot."""
    return int(np.sum(is_pilot_mode(mode[:-1]) & (mode[1:] == "user")))


def safe_from_marks(marks: np.ndarray, times_s: np.ndarray, window_s: float = TAKEOVER_WINDOW_S) -> np.ndarray:
    """(N,) float32: frames marked unsafe and those up to window_s before the mark are 0, all others 1.

    marks: (N,) float, 1 where the button was down, 0 where not, NaN where it was not recorded (unlabelled).
    """
    safe = np.where(np.isfinite(marks), 1.0, np.nan).astype(np.float32)
    marked = np.nan_to_num(marks) > 0
    starts = np.flatnonzero(marked & ~np.concatenate([[False], marked[:-1]]))
    for start in starts:
        safe[(times_s >= times_s[start] - window_s) & (times_s <= times_s[start])] = 0.0
    safe[marked] = 0.0
    return safe


@dataclass(frozen=True)
class CsvLabels:
    """What a label file says of the records of one tub: index -> number; of cte and safe one is empty."""

    cte: dict[int, float]
    safe: dict[int, float]
    certainty: dict[int, float] = field(default_factory=dict)  # missing: sure
    driving: dict[int, float] | None = None  # 0: carried, parked or in the pit; None: the file does not say
    times_ms: dict[int, float] = field(default_factory=dict)  # when the labelled record was taken; missing: not said
    departed: dict[int, float] = field(default_factory=dict)  # 1 out of the lane, 0 in it; missing: not said

    def lookup(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """cte, safe and certainty (N,) float32 of the records; NaN, NaN and 1 where the file has none."""
        cte, safe = (_column(source, indices, math.nan) for source in (self.cte, self.safe))
        return cte, safe, np.clip(np.nan_to_num(_column(self.certainty, indices, 1.0), nan=1.0), 0.0, 1.0)

    def out_of_lane(self, indices: np.ndarray) -> np.ndarray:
        """(N,) float32: 1 departed, 0 not, NaN where the file does not say."""
        return _column(self.departed, indices, math.nan)

    def of_others(self, indices: np.ndarray, times_s: np.ndarray) -> np.ndarray:
        """(N,) bool: the file speaks of a record with this index, but of another time: another tub's, or a replaced one."""
        said = np.array([self.times_ms.get(int(index), math.nan) for index in indices])
        return np.abs(said - 1000.0 * times_s) > SAME_MS

    def not_driving(self, indices: np.ndarray) -> np.ndarray | None:
        """(N,) bool, or None if the file says nothing about it."""
        return None if self.driving is None else _column(self.driving, indices, 1.0) == 0.0


def _column(source: dict[int, float], indices: np.ndarray, missing: float) -> np.ndarray:
    return np.array([source.get(int(index), missing) for index in indices], dtype=np.float32)


_BESIDE = ("certainty", "driving", "departed", "time_ms")


def read_label_csv(path: str | Path, tub: str, one_tub: bool) -> CsvLabels:
    """Labels for one tub from a CSV with the columns index and cte or safe; an empty cell is unlabelled.

    `certainty` (0..1), `driving` (0: carried, parked, in the pit), `departed` (1: out of the lane) and `time_ms` may stand beside
    them. With several tubs the file needs a column `tub` with the tub's folder name. Other columns are ignored.
    """
    try:
        names, rows = read_table(path)
    except OSError as error:
        raise AiccError(f"cannot read the label file {path}: {error}") from error
    kind = next((name for name in ("safe", "cte") if name in names), None)
    if "index" not in names or kind is None:
        raise AiccError(f"the label file {path} must have the columns index and cte or safe, got {sorted(map(str, names))}")
    if "tub" not in names and not one_tub:
        raise AiccError(f"the label file {path} needs a column tub (the folder name), because several tubs are read")
    values: dict[int, float] = {}
    beside: dict[str, dict[int, float]] = {name: {} for name in _BESIDE if name in names}
    for line, row in enumerate(rows, start=2):
        if "tub" in names and row["tub"] != tub:
            continue
        index, value = _label_cell(path, line, row["index"], row[kind])
        values[index] = value
        for name, column in beside.items():
            column[index] = _label_cell(path, line, row["index"], row[name])[1]
        for name, said in ((kind, value), ("departed", beside.get("departed", {}).get(index, math.nan))):
            if name != "cte" and said not in (0.0, 1.0) and not math.isnan(said):
                raise AiccError(f"{path} line {line}: {name} must be 0, 1 or empty, got {row[name]!r}")
    if one_tub and rows and not values:
        told = ", ".join(sorted({row["tub"] for row in rows}))
        raise AiccError(f"the label file {path} is of another tub: it speaks of {told}, not of {tub}")
    cte, safe = (values if kind == wanted else {} for wanted in ("cte", "safe"))
    others = (beside.get("certainty", {}), beside.get("driving"), beside.get("time_ms", {}), beside.get("departed", {}))
    return CsvLabels(cte, safe, *others)


def _label_cell(path: str | Path, line: int, index: str | None, value: str | None) -> tuple[int, float]:
    words = {"": math.nan, "true": 1.0, "false": 0.0}
    text = (value or "").strip().lower()
    try:
        number, label = float(index or ""), words[text] if text in words else float(text)
        if math.isinf(label):
            raise ValueError(text)
        return int(number), label
    except (ValueError, OverflowError):
        raise AiccError(f"{path} line {line}: index and label must be numbers, got {index!r} and {value!r}") from None


def check_half_width(half_width: float | None) -> None:
    """The rule for --lane-half-width, in the unit of the recorded cte."""
    if half_width is not None and not (math.isfinite(half_width) and half_width > 0):
        raise ConfigError(f"the lane's half width must be a number > 0 in the unit of the recorded cte, got {half_width}")


def departed_frames(
    cte: np.ndarray, mode: np.ndarray, marks: np.ndarray, *more: np.ndarray, half_width: float | None, centre: float = 0.0
) -> np.ndarray:
    """(N,) float32 of the frames of one session: 1 out of the lane, 0 in it, NaN where nothing tells.

    marks, more: (N,) 1 marked, 0 not, NaN not recorded; what a file says of departures.
    """
    said = [marks, *more, _takeovers(mode)]
    if half_width is not None:
        distance = np.abs(cte.astype(np.float32) - np.float32(centre))
        said.append(np.where(np.isfinite(distance), distance > np.float32(half_width), np.nan))
    votes = np.stack([np.asarray(each, dtype=np.float32) for each in said])
    known = np.isfinite(votes).any(axis=0)
    return np.where(known, np.nan_to_num(votes).max(axis=0), np.nan).astype(np.float32)


def _takeovers(mode: np.ndarray) -> np.ndarray:
    """1 at the pilot's last frame before a person takes over; 0 at its other frames, but only in a drive with a takeover.

    A drive in which nobody ever took over may have had nobody watching.
    """
    piloted = is_pilot_mode(mode)
    last = np.flatnonzero(piloted[:-1] & (mode[1:] == "user"))
    said = np.where(piloted & bool(len(last)), 0.0, np.nan)
    said[last] = 1.0
    return said


def departure_within(departed: np.ndarray, horizons: tuple[int, ...]) -> np.ndarray:
    """(N, K) float32 of one drive: 1 if a departure begins in the next k frames, 0 if not, NaN unknown.

    A frame that is out of the lane already has no label: what it asks about has happened. One before the end of the drive
    has the label 1 if the departure is seen, and 0 only if all k frames are.
    """
    out = np.asarray(departed, dtype=np.float64)
    count = len(out)
    following = np.full(count, math.inf)  # frames until the next departure
    unknown = np.full(count, math.inf)  # frames until the next one of which nothing is known
    next_out = next_unknown = math.inf
    for row in range(count - 1, -1, -1):
        following[row], unknown[row] = next_out - row, min(next_unknown, count) - row
        next_out = row if out[row] == 1.0 else next_out
        next_unknown = row if math.isnan(out[row]) else next_unknown
    labels = np.full((count, len(horizons)), np.nan, dtype=np.float32)
    for column, k in enumerate(horizons):
        soon = following <= k
        labels[soon, column] = 1.0
        labels[~soon & (unknown > k), column] = 0.0
    labels[~(out == 0.0)] = np.nan
    return labels


def horizon_labels(safe: np.ndarray, horizons: Iterable[int]) -> np.ndarray:
    """(N, K) float32: safe[i + k] for each horizon k; NaN where i + k is beyond the sequence or unlabelled."""
    safe = np.asarray(safe, dtype=np.float32)
    steps = list(horizons)
    labels = np.full((len(safe), len(steps)), np.nan, dtype=np.float32)
    for column, step in enumerate(steps):
        if step < 0:
            raise ConfigError(f"a horizon must be >= 0 steps, got {step}")
        if step < len(safe):
            labels[: len(safe) - step, column] = safe[step:]
    return labels
