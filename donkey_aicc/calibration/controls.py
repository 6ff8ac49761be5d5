"""Controls without which a low OOD calibration error means nothing: caution that knows of no anomaly at all."""

from collections.abc import Callable
from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator, ScoreMap, labelled_samples
from donkey_aicc.calibration.heating import HeatingProblem, base_logits, confidence_of, minimise_weights
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import checked_probability, logit, sigmoid
from donkey_aicc.calibration.temperature import by_horizon, by_text, fit_temperatures
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

MAX_HEAT = 5.0  # exp(5) = 148 times the temperature: every confidence is 0.5 then
_GRID = 101


class ConstantBaseRate(Calibrator):
    """Always the share of safe calibration frames at that horizon: calibrated on average, useless as a prediction."""

    kind, shown_as = "base_rate", "Constant base rate"

    def __init__(self) -> None:
        super().__init__()
        self.rates: dict[int, float] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "ConstantBaseRate":
        for column, horizon in enumerate(table.horizons):
            _, y = labelled_samples(table, self.probability_of(table), column, self.name)
            self.rates[int(horizon)] = float(y.mean())
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return np.full(len(checked_probability(p)), self.of_horizon(self.rates, horizon))

    def parameters(self) -> dict[str, Any]:
        return {"rates": by_text(self.rates)}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.rates = by_horizon(stored["rates"])


class _SharedHeat(Calibrator):
    """T_eff = T_k exp(heat) with one heat for every frame."""

    def __init__(self, name: str = "", label: str = "", uses_tta: bool = True) -> None:
        super().__init__(name, label, uses_tta)
        self.temperatures: dict[int, float] = {}
        self.heat = 0.0

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return confidence_of(p, self.of_horizon(self.temperatures, horizon), np.array(self.heat))

    def parameters(self) -> dict[str, Any]:
        return {"temperatures": by_text(self.temperatures), "heat": self.heat}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.temperatures = by_horizon(stored["temperatures"])
        self.heat = float(stored["heat"])


class PooledTemperature(_SharedHeat):
    """The heat with the least NLL on the very pool our weights are fitted on, blind to the scores."""

    kind, shown_as = "pooled_temperature", "Pooled temperature, no scores"

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "PooledTemperature":
        pool = self.required_pool(pool)
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        parts = (pool.nominal, pool.augmented.select(pool.balanced))
        logits = np.concatenate([base_logits(self.probability_of(part), part.horizons, self.temperatures) for part in parts])
        labels = np.concatenate([part.labels for part in parts])
        problem = HeatingProblem(logits, labels, np.ones((len(logits), 1)))
        self.heat = float(minimise_weights(problem.nll_and_gradient, np.zeros(1))[0])
        return self


class UniformHeating(_SharedHeat):
    """Every frame heated alike until the nominal error equals that of the method it is compared with.

    `fit` sets T_k only; `heat_to` needs nominal data with a target. It may look at nominal test data: it is a
    control that gets the same nominal error as a gift, not a method.
    """

    kind, shown_as = "uniform_heating", "Uniform heating, same nominal error"

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "UniformHeating":
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        self.heat = 0.0
        return self

    def heat_to(self, nominal: ScoreTable, target: float, error: Callable[[np.ndarray], float]) -> "UniformHeating":
        """Choose the heat for which error(confidence (N, K) of `nominal`) is the target, on the rising branch.

        A target below the lowest reachable error gives the heat of that lowest error; one above the error of
        a constant 0.5 is refused.
        """
        heats = np.linspace(0.0, MAX_HEAT, _GRID)
        errors = np.array([self._error_at(heat, nominal, error) for heat in heats])
        if not np.isfinite(errors).all():
            raise AiccError(f"uniform heating needs a finite nominal error, got {errors[~np.isfinite(errors)][0]}")
        lowest = int(errors.argmin())
        above = np.flatnonzero(errors[lowest:] >= target)
        if not len(above):
            raise AiccError(f"uniform heating cannot reach a nominal error of {target:.4g}; its largest is {errors.max():.4g}")
        high = lowest + int(above[0])
        self.heat = float(heats[high])
        if above[0] > 0:
            self.heat = self._bisect(heats[high - 1], heats[high], nominal, target, error)
        self.fit_report = {"target": float(target), "error": self._error_at(self.heat, nominal, error)}
        return self

    def _bisect(self, low: float, high: float, nominal: ScoreTable, target: float, error: Callable[[np.ndarray], float]) -> float:
        for _ in range(25):
            middle = (low + high) / 2.0
            if self._error_at(middle, nominal, error) >= target:
                high = middle
            else:
                low = middle
        return float(high)

    def _error_at(self, heat: float, nominal: ScoreTable, error: Callable[[np.ndarray], float]) -> float:
        self.heat = float(heat)
        return float(error(self.predict(nominal)))


class UniformShift(UniformHeating):
    """Every frame presumed less safe alike, its odds divided by exp(heat), until the nominal error is that of the method."""

    kind, shown_as = "uniform_shift", "Uniform presumption, same nominal error"

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return sigmoid(logit(p) / self.of_horizon(self.temperatures, horizon) - self.heat)
