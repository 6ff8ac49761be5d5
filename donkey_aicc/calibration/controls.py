"""Rows that no car should drive with, and without which a low OOD calibration error means nothing.

Controls: caution that knows of no anomaly at all. Recalibration while driving, by labels that arrive k steps late: what a car
could do that always learns how it went. It needs labels at test time, which no car has without an overhead camera, and shows
what they would be worth.
"""

from collections.abc import Callable

import numpy as np

from donkey_aicc.calibration.anomaly_weights import HeatingProblem, base_logits, confidence_of, minimise_weights
from donkey_aicc.calibration.base import (
    P_TTA,
    Calibrator,
    ScoreMap,
    checked_probability,
    labelled_samples,
    logit,
    mean_nll,
    sigmoid,
)
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import TemperatureScaling, fit_temperatures
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import Scores

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


class _SharedHeat(Calibrator):
    """T_eff = T_k exp(heat) with one heat for every frame."""

    def __init__(self, name: str = "", label: str = "", starts_from: str = P_TTA) -> None:
        super().__init__(name, label, starts_from)
        self.temperatures: dict[int, float] = {}
        self.heat = 0.0

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return confidence_of(p, self.of_horizon(self.temperatures, horizon), np.array(self.heat))


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


RATES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # tried step sizes of the gradient descent
_SLOPE = (0.0, 10.0)  # a prediction may lose its weight but never point the other way


class OnlineRecalibration(TemperatureScaling):
    """logit(confidence) = a logit(p) + b per horizon; every drive starts at a = 1 / T_k, b = 0.

    At step i the label of frame i - k becomes known, and a and b take one gradient step on its NLL. The step size is the one
    with the least NLL on the pool (nominal and D_aug drives, run through the same way).
    """

    kind = "online"

    def __init__(self, name: str = "online", label: str = "Online, labels k steps late", starts_from: str = P_TTA) -> None:
        super().__init__(name, label, starts_from)
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


def _rows_by_step(table: ScoreTable) -> np.ndarray:
    """(drives, steps) row of each drive at each step, counted from the drive's first row; -1 where there is none."""
    _, drive = np.unique(table.sequence, return_inverse=True)
    first = np.full(int(drive.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, drive, table.step)
    step = table.step - first[drive]
    rows = np.full((len(first), int(step.max(initial=-1)) + 1), -1)
    rows[drive, step] = np.arange(len(table))
    return rows
