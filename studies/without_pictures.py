"""What a predictor that sees no picture would say: from the place on the track alone, and from how far the car is off now.

If the place alone predicts as well as the net, the net has learnt places; if present |cte| does, there is nothing to foresee.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from donkey_aicc import channels
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.simulator.track import Track
from donkey_aicc.tubs.labels import horizon_labels
from donkey_aicc.tubs.tub_contents import numbers
from donkey_aicc.tubs.tub_reader import read_v2_tub

BIN_M = 0.1
PRIOR = 1.0  # frames that say one half, at every place: one that no training drive has seen says just that


class PlacePredictor:
    """p = share of safe futures that the training drives had at this place, for each horizon."""

    def __init__(self, track: Track, horizons: Sequence[int]) -> None:
        self._track, self._horizons = track, tuple(int(k) for k in horizons)
        bins = int(track.length_m / BIN_M) + 1
        self._safe = np.full((bins, len(self._horizons)), 0.5 * PRIOR)
        self._count = np.full((bins, len(self._horizons)), PRIOR)

    def learn(self, place: np.ndarray, safe: np.ndarray) -> None:
        """place: (N,) metres along the track and safe: (N,) of one drive."""
        labels = horizon_labels(safe, self._horizons)
        known = np.isfinite(labels)
        rows = self._rows(place)
        np.add.at(self._safe, rows, np.where(known, labels, 0.0))
        np.add.at(self._count, rows, known)

    def predict(self, place: np.ndarray) -> np.ndarray:
        """(N,) -> (N, K)."""
        rows = self._rows(place)
        return self._safe[rows] / self._count[rows]

    def _rows(self, place: np.ndarray) -> np.ndarray:
        return np.minimum((place / BIN_M).astype(int), len(self._count) - 1)


def places_of(tub: Path, track: Track) -> dict[int, float]:
    """Record index -> metres along the track."""
    records = read_v2_tub(tub).records
    x, y = numbers(records, channels.POS_X), numbers(records, channels.POS_Z)
    found: dict[int, float] = {}
    hint: float | None = None
    for record, px, py in zip(records, x.tolist(), y.tolist(), strict=True):
        hint = track.project(px, py, hint)[0]
        found[record.index] = hint
    return found


def present_cte(table: ScoreTable, tau: float) -> np.ndarray:
    """(N, K) the same at every horizon: the nearer to the line now, the likelier safe; one half at the limit tau."""
    p = 1.0 / (1.0 + np.exp(4.0 * (np.abs(table.cte) / tau - 1.0)))
    return np.repeat(np.nan_to_num(p, nan=0.5)[:, None], len(table.horizons), axis=1)
