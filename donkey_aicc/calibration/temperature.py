"""Temperature scaling (Guo et al., 2017), one temperature per horizon, and two methods of others that build on it.

- Ensemble temperature scaling (Zhang, Kailkhura and Han, 2020): a mix of scaled, raw and undecided.
- Density-aware calibration (Tomani et al., 2023): hotter where the predictor's features are far from known ones. It is read in
  two ways. The paper's appendix divides the distance by mu + 2 sigma, which heats nominal frames too; the authors' code takes
  clip((d - mu) / (2 sigma)). Both are rows; a third (`dac_fitted` in the catalogue) fits the weight.
"""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import (
    P_SAFE,
    Calibrator,
    ScoreMap,
    checked_probability,
    clip_probability,
    labelled_samples,
    logit,
    sigmoid,
)
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.stored import array, by_horizon, number

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

    def __init__(self, name: str = "temperature", label: str = "Temperature scaling", starts_from: str = P_SAFE) -> None:
        super().__init__(name, label, starts_from)
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


def stored_temperatures(stored: Any) -> dict[int, float]:
    """horizon -> T_k > 0, each in the range that a fit can give: sigmoid(logit(p) / T) rises with p."""
    given = by_horizon("temperatures", stored)
    return {horizon: number(f"the temperature of horizon {horizon}", value, T_MIN, T_MAX) for horizon, value in given.items()}


Mix = tuple[float, float, float]


def fit_mix(parts: np.ndarray, y: np.ndarray) -> Mix:
    """Weights >= 0 that add up to 1 with the least NLL of the mixed probability; parts: (n, 3), y: (n,)."""
    from scipy.optimize import minimize  # only fits need it: the car loads no scipy

    right = np.where(y[:, None] > 0.5, parts, 1.0 - parts)  # probability each part gives to the truth

    def nll(weights: np.ndarray) -> tuple[float, np.ndarray]:
        given = np.maximum(right @ weights, 1e-12)
        return float(-np.log(given).mean()), -(right / given[:, None]).mean(axis=0)

    found = minimize(
        nll,
        np.array([0.8, 0.1, 0.1]),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(3)},
        options={"ftol": 1e-10, "maxiter": 200},
    )
    weights = np.clip(found.x, 0.0, 1.0)
    scaled, raw, undecided = (weights / weights.sum()).tolist()
    return scaled, raw, undecided


class EnsembleTemperature(TemperatureScaling):
    """confidence = w1 sigmoid(logit(p) / T_k) + w2 p + w3 / 2 per horizon, on the nominal calibration rows."""

    kind = "ets"

    def __init__(self, name: str = "ets", label: str = "Ensemble temperature scaling", starts_from: str = P_SAFE) -> None:
        super().__init__(name, label, starts_from)
        self.mixes: dict[int, Mix] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "EnsembleTemperature":
        super().fit(table)
        for column, horizon in enumerate(table.horizons):
            p, y = labelled_samples(table, self.probability_of(table), column, self.name)
            self.mixes[int(horizon)] = fit_mix(self._parts(p, int(horizon)), y)
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return clip_probability(self._parts(p, horizon) @ np.array(self.of_horizon(self.mixes, horizon)))

    def _parts(self, p: np.ndarray, horizon: int) -> np.ndarray:
        """(N, 3) scaled, raw, undecided."""
        raw = checked_probability(p)
        scaled = heated(raw, self.of_horizon(self.temperatures, horizon))
        return np.stack([scaled, raw, np.full(len(raw), 0.5)], axis=1)

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"mixes": {str(horizon): list(mix) for horizon, mix in self.mixes.items()}}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        """Weights >= 0 that add up to 1 keep what rises rising, and within 0..1."""
        super().load_parameters(stored)
        self.mixes = {}
        for horizon, mix in by_horizon("mixes", stored["mixes"]).items():
            scaled, raw, undecided = array(f"the mix of horizon {horizon}", mix, 0.0, 1.0).tolist()
            if abs(scaled + raw + undecided - 1.0) > 1e-6:
                raise AiccError(f"the mix of horizon {horizon} must add up to 1, got {scaled + raw + undecided:g}")
            self.mixes[horizon] = (scaled, raw, undecided)


DAC_WEIGHT = 2.0
APPENDIX, AUTHORS = "dac", "density"  # scores: d / (mu + 2 sigma) and (d - mu) / (2 sigma), clipped to [0, 1]


class DensityAwareCalibration(TemperatureScaling):
    """T_eff = T_k exp(2 s), s >= 0 the normalised mean distance to the 10 nearest calibration features: it only ever heats."""

    kind = "dac"

    def __init__(
        self, name: str = "dac", label: str = "DAC (appendix)", starts_from: str = P_SAFE, normalised: str = APPENDIX
    ) -> None:
        super().__init__(name, label, starts_from)
        self.score_names = (normalised,)

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "DensityAwareCalibration":
        super().fit(table)
        self.statistics = pool.statistics if pool is not None else ScoreStatistics.fit(table)
        if self.statistics.density is None:
            raise AiccError(f"calibrator {self.name} needs the column cnn_features, which this score table does not have")
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        distance = self.required_scores(scores, len(p))[:, 0]
        return heated(p, self.of_horizon(self.temperatures, horizon) * np.exp(DAC_WEIGHT * distance))
