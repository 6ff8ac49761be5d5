"""Run: one recorded drive as columns with one row per record, named as in the live cockpit.

And the moments worth looking at in it: departures, alarms, faults, disagreement, and the worst frames.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.home import REAL_CAR

SCORE_COLUMNS = ("p_safe", "p_tta", "p_restored", "restored", "confidence", "rho", "delta", "hindsight")
VECTORS = ("p_safe", "p_tta", "p_restored", "confidence", "hazard", "stays")  # one number per horizon
ABOUT_S = 1.0  # the dial and the events look at the horizon nearest to this


@dataclass(frozen=True, eq=False)
class Run:
    """N records that were not deleted, in driving order."""

    tub: Path
    name: str
    index: np.ndarray  # (N,) int64: record index in the tub
    t: np.ndarray  # (N,) float64: seconds since the first record, with pauses cut short
    rate_hz: float
    image_paths: Sequence[str | None]
    numbers: dict[str, np.ndarray]  # name -> (N,) or (N, K) float32, NaN unknown
    words: dict[str, np.ndarray]  # name -> (N,) str, '' unknown
    departed: np.ndarray  # (N,) float32: 1 out of the lane, 0 in it, NaN unknown
    horizons: tuple[int, ...] = ()  # of p_safe, p_tta, confidence and hazard, in frames
    features: tuple[str, ...] = ()  # names of the columns of `features`
    track: dict[str, Any] | None = None  # {"points": [[x, y]], "half_width_m"} where it is known
    safe: str = ""  # for people: what the bundle behind the scores calls safe
    scores_from: str = ""  # for people: where the scores come from
    home: str = REAL_CAR  # the world it was driven in
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.index)

    def part(self, begin_s: float, end_s: float) -> "Run":
        """The records from begin_s to end_s of the drive; time counts from the first of them."""
        rows = np.flatnonzero((self.t >= begin_s) & (self.t <= end_s))
        if not len(rows):
            raise AiccError(f"{self.name} lasts {self.t[-1]:.1f} s: nothing lies between {begin_s:g} and {end_s:g} s")
        cut = self.taking(rows)
        return replace(cut, t=cut.t - cut.t[0])

    def taking(self, rows: np.ndarray, note: str = "") -> "Run":
        """Only these records."""
        return replace(
            self,
            index=self.index[rows],
            t=self.t[rows],
            image_paths=[self.image_paths[row] for row in rows],
            numbers={name: values[rows] for name, values in self.numbers.items()},
            words={name: values[rows] for name, values in self.words.items()},
            departed=self.departed[rows],
            notes=(*self.notes, note) if note else self.notes,
        )

    def row_at(self, t: float) -> int:
        """The last record that is not after t, as the page has it."""
        return max(0, int(np.searchsorted(self.t, t + 1e-6, side="right")) - 1)

    def has(self, name: str) -> bool:
        """Whether at least one record knows this number."""
        return name in self.numbers and bool(np.isfinite(self.numbers[name]).any())

    @property
    def has_position(self) -> bool:
        return self.has("x") and self.has("y")

    @property
    def main_horizon(self) -> int:
        """Column of the horizon nearest to one second; 0 without horizons."""
        ahead = np.array(self.horizons or (0,), dtype=np.float64)
        return int(np.argmin(np.abs(ahead - ABOUT_S * self.rate_hz)))

    def at_horizon(self, name: str) -> np.ndarray:
        """(N,) of a column with one value per horizon, at the main one; NaN where the drive has no such column."""
        values = self.numbers.get(name)
        if values is None or values.ndim < 2:
            return np.full(len(self), np.nan) if values is None else values
        return values[:, min(self.main_horizon, values.shape[1] - 1)]


DEPARTURE, ALARM, FAULT, DISAGREEMENT, PICTURE, DYNAMICS = KINDS = (
    "departure",
    "alarm",
    "fault",
    "disagreement",
    "picture",
    "dynamics",
)
APART_S = 2.0  # two events of one kind are at least this far apart
WORST = 5  # of disagreement, rho and delta
MOST = 60  # of departures, alarms and faults: a page of buttons, not a log file
SMOOTH_S = 0.5  # clipped scores stand at 1 for seconds: the middle of the longest such stretch is the worst


@dataclass(frozen=True)
class Event:
    kind: str
    row: int
    t: float  # seconds
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "row": self.row, "t": round(self.t, 3), "text": self.text}


def find_events(run: Run) -> list[Event]:
    """All kinds, each in driving order."""
    found = _departures(run) + _alarms(run) + _faults(run)
    gap = np.abs(run.at_horizon("p_safe") - run.at_horizon("confidence"))
    found += _worst(run, DISAGREEMENT, gap, lambda row: _disagreement(run, row))
    found += _worst(run, PICTURE, _strength(run, "rho"), lambda row: f"picture anomaly {_shown(run, 'rho', row)}")
    found += _worst(run, DYNAMICS, _strength(run, "delta"), lambda row: f"dynamics anomaly {_shown(run, 'delta', row)}")
    return found


def _starts(on: np.ndarray, t: np.ndarray) -> list[int]:
    """Rows where something begins that was not there for a while."""
    rows = np.flatnonzero(on)
    if not len(rows):
        return []
    fresh = np.concatenate([[True], np.diff(t[rows]) > APART_S])
    return [int(row) for row in rows[fresh][:MOST]]


def _departures(run: Run) -> list[Event]:
    out = run.departed == 1.0
    starts = _starts(out, run.t)
    stops = [*starts[1:], len(run)][: len(starts)]
    return [
        Event(DEPARTURE, row, float(run.t[row]), _why_departed(run, row, row + np.flatnonzero(out[row:stop])))
        for row, stop in zip(starts, stops, strict=True)
    ]


def _why_departed(run: Run, row: int, rows: np.ndarray) -> str:
    """rows: all that belong to it, the first one with them."""
    mark = run.numbers.get("mark")
    if mark is not None and mark[row] == 1.0:
        return "marked unsafe"
    mode = run.words.get("mode")
    if mode is not None and row + 1 < len(run) and mode[row + 1] == "user" and mode[row] != "user":
        return "a person took over"
    cte = run.numbers.get("cte")
    if cte is None or not np.isfinite(cte[row]):
        return "left the lane"
    long_s, furthest_cm = run.t[rows[-1]] - run.t[row] + 1 / run.rate_hz, 100 * np.nanmax(np.abs(cte[rows]))
    return f"left the lane for {long_s:.1f} s, up to {furthest_cm:.0f} cm off centre"


def _alarms(run: Run) -> list[Event]:
    alarm = run.words.get("alarm")
    if alarm is None:
        return []
    reason = run.words.get("reason", np.full(len(run), ""))
    found = []
    for level in ("danger", "watch"):
        for row in _starts(alarm == level, run.t):
            found.append(Event(ALARM, row, float(run.t[row]), f"{level}: {reason[row]}" if reason[row] else level))
    return sorted(found, key=lambda event: event.row)[:MOST]


def _faults(run: Run) -> list[Event]:
    protocol = run.words.get("inject_protocol")
    if protocol is None:
        return []
    before = np.concatenate([[""], protocol[:-1]])
    severity = run.numbers.get("inject_severity", np.full(len(run), np.nan))
    rows = np.flatnonzero((protocol != "") & (protocol != before))[:MOST]
    return [
        Event(FAULT, int(row), float(run.t[row]), protocol[row] + (f":{severity[row]:.0f}" if np.isfinite(severity[row]) else ""))
        for row in rows
    ]


def _strength(run: Run, name: str) -> np.ndarray:
    """The unclipped score where it is known; else the clipped one, averaged so that long stretches win."""
    if f"{name}_z" in run.numbers:
        return run.numbers[f"{name}_z"]
    values = run.numbers.get(name)
    if values is None:
        return np.full(len(run), np.nan)
    width = max(1, round(SMOOTH_S * run.rate_hz))
    smooth = np.convolve(np.nan_to_num(values), np.ones(width) / width)[(width - 1) // 2 :]
    return smooth[: len(values)] + 0.0 * values  # a drive may be shorter than the window


def _worst(run: Run, kind: str, strength: np.ndarray, text: Callable[[int], str]) -> list[Event]:
    """The largest, at least APART_S from each other, in driving order. Zero is not worth a look.

    Neither is what stands before the scores are valid. Of equal ones the middle counts, and a stretch of them once.
    """
    ready = run.numbers.get("scores_valid", np.ones(len(run))) != 0.0
    left = np.where(np.isfinite(strength) & ready & ~_warming_up(run), strength, -np.inf)
    rows: list[int] = []
    while len(rows) < WORST:
        first = int(np.argmax(left))
        if not left[first] > 0.0:
            break
        last = first + int(np.argmin(np.append(left[first:] == left[first], False))) - 1
        row = (first + last) // 2
        rows.append(row)
        left[(run.t > run.t[first] - APART_S) & (run.t < run.t[last] + APART_S)] = -np.inf
    return [Event(kind, row, float(run.t[row]), text(row)) for row in sorted(rows)]


def _warming_up(run: Run) -> np.ndarray:
    status = run.words.get("status", np.full(len(run), ""))
    return np.char.find(status.astype(str), "warming up") >= 0


def _disagreement(run: Run, row: int) -> str:
    raw, calibrated = run.at_horizon("p_safe")[row], run.at_horizon("confidence")[row]
    return f"raw {100 * raw:.0f} %, calibrated {100 * calibrated:.0f} %"


def _shown(run: Run, name: str, row: int) -> str:
    unclipped = run.numbers.get(f"{name}_z")
    if unclipped is not None and unclipped[row] > 1.0:
        return f"{unclipped[row]:.1f} times its limit"
    return f"{run.numbers[name][row]:.2f}"
