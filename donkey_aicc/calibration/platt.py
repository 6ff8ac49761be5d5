"""Platt scaling: a slope and an offset on the logit, per horizon."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoreMap, labelled_samples
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import logit, sigmoid
from donkey_aicc.scoring.score_table import ScoreTable

_BOUND = 50.0  # keeps separable data from running away


def fit_platt(p: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(a, b) with the least NLL of sigmoid(a logit(p) + b); p, y: (n,)."""
    from scipy.optimize import minimize  # only fits need it: the car loads no scipy

    x = logit(p)

    def nll(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        z = parameters[0] * x + parameters[1]
        error = sigmoid(z) - y
        return float((np.logaddexp(0.0, z) - y * z).mean()), np.array([(error * x).mean(), error.mean()])

    found = minimize(
        nll,
        np.array([1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-_BOUND, _BOUND)] * 2,
        options={"ftol": 1e-14, "gtol": 1e-9},
    )
    return float(found.x[0]), float(found.x[1])


class PlattScaling(Calibrator):
    """confidence = sigmoid(a_k logit(p) + b_k)."""

    kind = "platt"

    def __init__(self, name: str = "platt", label: str = "Platt scaling", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)
        self.coefficients: dict[int, tuple[float, float]] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "PlattScaling":
        p = self.probability_of(table)
        for column, horizon in enumerate(table.horizons):
            self.coefficients[int(horizon)] = fit_platt(*labelled_samples(table, p, column, self.name))
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        slope, offset = self.of_horizon(self.coefficients, horizon)
        return sigmoid(slope * logit(p) + offset)

    def parameters(self) -> dict[str, Any]:
        return {"coefficients": {str(horizon): list(pair) for horizon, pair in self.coefficients.items()}}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.coefficients = {int(k): (float(a), float(b)) for k, (a, b) in stored["coefficients"].items()}
