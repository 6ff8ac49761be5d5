"""Isotonic regression: the monotone step curve that fits best, per horizon."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoreMap, labelled_samples
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import checked_probability
from donkey_aicc.scoring.score_table import ScoreTable

Y_MIN, Y_MAX = 0.01, 0.99


class IsotonicCalibration(Calibrator):
    """Monotone piecewise-linear curve with values in [0.01, 0.99]; sklearn fits it, numpy applies it."""

    kind = "isotonic"

    def __init__(self, name: str = "isotonic", label: str = "Isotonic regression", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)
        self.curves: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "IsotonicCalibration":
        from sklearn.isotonic import IsotonicRegression  # only needed offline

        p = self.probability_of(table)
        for column, horizon in enumerate(table.horizons):
            samples = labelled_samples(table, p, column, self.name)
            fitted = IsotonicRegression(y_min=Y_MIN, y_max=Y_MAX, out_of_bounds="clip").fit(*samples)
            self.curves[int(horizon)] = (fitted.X_thresholds_.astype(np.float64), fitted.y_thresholds_.astype(np.float64))
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        x, y = self.of_horizon(self.curves, horizon)
        return np.interp(checked_probability(p), x, y)

    def parameters(self) -> dict[str, Any]:
        return {"curves": {str(horizon): [x.tolist(), y.tolist()] for horizon, (x, y) in self.curves.items()}}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.curves = {
            int(k): (np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)) for k, (x, y) in stored["curves"].items()
        }
