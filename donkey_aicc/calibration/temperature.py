"""Temperature scaling (Guo et al., 2017), one temperature per horizon."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoreMap, labelled_samples
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import logit, sigmoid
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

T_MIN, T_MAX = 0.1, 20.0


def fit_temperature(p: np.ndarray, y: np.ndarray) -> float:
    """The T in [0.1, 20] with the least NLL of sigmoid(logit(p) / T); p, y: (n,)."""
    from scipy.optimize import minimize_scalar  # only fits need it: the car loads no scipy

    signed = np.where(y > 0.5, 1.0, -1.0) * logit(p)

    def nll(log_temperature: float) -> float:
        return float(np.logaddexp(0.0, -signed * np.exp(-log_temperature)).mean())

    found = minimize_scalar(nll, bounds=(np.log(T_MIN), np.log(T_MAX)), method="bounded", options={"xatol": 1e-7})
    return float(np.clip(np.exp(found.x), T_MIN, T_MAX))


def fit_temperatures(table: ScoreTable, p: np.ndarray, owner: str) -> dict[int, float]:
    """horizon -> T_k on the valid labelled rows; p: (N, K)."""
    return {
        int(horizon): fit_temperature(*labelled_samples(table, p, column, owner)) for column, horizon in enumerate(table.horizons)
    }


def heated(p: np.ndarray, temperature: np.ndarray | float) -> np.ndarray:
    """sigmoid(logit(p) / T)."""
    return sigmoid(logit(p) / temperature)


class TemperatureScaling(Calibrator):
    """confidence = sigmoid(logit(p) / T_k), T_k by NLL on the nominal calibration rows."""

    kind = "temperature"

    def __init__(self, name: str = "temperature", label: str = "Temperature scaling", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)
        self.temperatures: dict[int, float] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "TemperatureScaling":
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return heated(p, self.of_horizon(self.temperatures, horizon))

    def parameters(self) -> dict[str, Any]:
        return {"temperatures": by_text(self.temperatures)}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.temperatures = stored_temperatures(stored["temperatures"])


def by_text(values: dict[int, float]) -> dict[str, float]:
    """JSON keys are text."""
    return {str(horizon): value for horizon, value in values.items()}


def by_horizon(stored: dict[str, float]) -> dict[int, float]:
    return {int(horizon): float(value) for horizon, value in stored.items()}


def stored_temperatures(stored: dict[str, float]) -> dict[int, float]:
    """horizon -> T_k, each in the range that a fit can give."""
    temperatures = by_horizon(stored)
    for horizon, value in temperatures.items():
        if not T_MIN <= value <= T_MAX:
            raise AiccError(f"the temperature of horizon {horizon} must be in {T_MIN:g}..{T_MAX:g}, got {value:g}")
    return temperatures
