"""Run: one recorded drive as columns with one row per record, named as in the live cockpit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError

SCORE_COLUMNS = ("p_safe", "p_tta", "confidence", "rho", "delta")
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
