"""Histogram binning: the share of safe frames in each of 15 probability bins, per horizon."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoreMap, labelled_samples
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import checked_probability
from donkey_aicc.scoring.score_table import ScoreTable

BINS = 15


def bin_of(p: np.ndarray, bins: int) -> np.ndarray:
    """Equal-width bin of each p; 1.0 belongs to the last one."""
    return np.minimum((p * bins).astype(np.int64), bins - 1)


class HistogramBinning(Calibrator):
    """confidence = empirical frequency of the bin; a bin without calibration frames keeps its centre."""

    kind = "histogram"

    def __init__(self, name: str = "histogram", label: str = "Histogram binning", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)
        self.values: dict[int, np.ndarray] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "HistogramBinning":
        probabilities = self.probability_of(table)
        for column, horizon in enumerate(table.horizons):
            p, y = labelled_samples(table, probabilities, column, self.name)
            index = bin_of(p, BINS)
            counts = np.bincount(index, minlength=BINS)
            safe = np.bincount(index, weights=y, minlength=BINS)
            centres = (np.arange(BINS) + 0.5) / BINS
            self.values[int(horizon)] = np.where(counts > 0, safe / np.maximum(counts, 1), centres)
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        values = self.of_horizon(self.values, horizon)
        return values[bin_of(checked_probability(p), len(values))]

    def parameters(self) -> dict[str, Any]:
        return {"values": {str(horizon): values.tolist() for horizon, values in self.values.items()}}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.values = {int(k): np.array(values, dtype=np.float64) for k, values in stored["values"].items()}
