"""Recalibration while driving, by labels that arrive k steps late: what a car could do that always learns how it went.

A class of its own: it needs labels at test time, which no car has without an overhead camera. It shows what they would be worth.
"""

from typing import Any

import numpy as np

from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import logit, mean_nll, sigmoid
from donkey_aicc.calibration.statistics import Scores
from donkey_aicc.calibration.temperature import TemperatureScaling
from donkey_aicc.scoring.score_table import ScoreTable

RATES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # tried step sizes of the gradient descent
_SLOPE = (0.0, 10.0)  # a prediction may lose its weight but never point the other way


class OnlineRecalibration(TemperatureScaling):
    """logit(confidence) = a logit(p) + b per horizon; every drive starts at a = 1 / T_k, b = 0.

    At step i the label of frame i - k becomes known, and a and b take one gradient step on its NLL. The step size is the one
    with the least NLL on the pool (nominal and D_aug drives, run through the same way).
    """

    kind = "online"

    def __init__(self, name: str = "online", label: str = "Online, labels k steps late", uses_tta: bool = True) -> None:
        super().__init__(name, label, uses_tta)
        self.rate = 0.0

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "OnlineRecalibration":
        super().fit(table)
        parts = [pool.nominal, pool.augmented] if pool is not None else [table.select(table.valid.astype(bool))]
        losses = []
        for rate in RATES:
            self.rate = rate
            losses.append(float(np.mean([mean_nll(self.predict(part), part.labels) for part in parts])))
        self.rate = RATES[int(np.argmin(losses))]
        self.fit_report = {"nll_by_rate": dict(zip(map(str, RATES), losses, strict=True))}
        return self

    def predict(self, table: ScoreTable, scores: Scores | None = None) -> np.ndarray:
        """(N, K). Uses the labels of `table`, each only from the step on at which it is known; all drives side by side."""
        row = _rows_by_step(table)
        x = logit(self.probability_of(table))
        horizons = [int(horizon) for horizon in table.horizons]
        slope = np.tile([1.0 / self.of_horizon(self.temperatures, k) for k in horizons], (len(row), 1))
        offset = np.zeros_like(slope)
        found = np.empty_like(x)
        for step in range(row.shape[1]):
            for column, horizon in enumerate(horizons):
                if step >= horizon:
                    self._learn(x, table.labels, row[:, step - horizon], column, slope, offset)
            here = np.flatnonzero(row[:, step] >= 0)
            rows = row[here, step]
            found[rows] = sigmoid(slope[here] * x[rows] + offset[here])
        return found

    def _learn(
        self, x: np.ndarray, labels: np.ndarray, rows: np.ndarray, column: int, slope: np.ndarray, offset: np.ndarray
    ) -> None:
        """One gradient step for each drive whose frame rows[drive] (-1: none) has just got its label."""
        drives = np.flatnonzero(rows >= 0)
        y = labels[rows[drives], column]
        drives, y = drives[~np.isnan(y)], y[~np.isnan(y)]
        seen = x[rows[drives], column]
        error = sigmoid(slope[drives, column] * seen + offset[drives, column]) - y
        slope[drives, column] = np.clip(slope[drives, column] - self.rate * error * seen, *_SLOPE)
        offset[drives, column] -= self.rate * error

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"rate": self.rate}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        super().load_parameters(stored)
        self.rate = float(stored["rate"])


def _rows_by_step(table: ScoreTable) -> np.ndarray:
    """(drives, steps) row of each drive at each step, counted from the drive's first row; -1 where there is none."""
    _, drive = np.unique(table.sequence, return_inverse=True)
    first = np.full(int(drive.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, drive, table.step)
    step = table.step - first[drive]
    rows = np.full((len(first), int(step.max(initial=-1)) + 1), -1)
    rows[drive, step] = np.arange(len(table))
    return rows
