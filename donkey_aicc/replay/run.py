"""Run: one recorded drive as columns with one row per record, named as in the live cockpit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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
    scores_from: str = ""  # for people: where the scores come from
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.index)

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
