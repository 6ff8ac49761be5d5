"""Ensemble temperature scaling (Zhang, Kailkhura and Han, 2020): a mix of scaled, raw and undecided."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import ScoreMap, labelled_samples
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.probability import checked_probability, clip_probability
from donkey_aicc.calibration.temperature import TemperatureScaling, heated
from donkey_aicc.scoring.score_table import ScoreTable

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

    def __init__(self, name: str = "ets", label: str = "Ensemble temperature scaling", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)
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
        super().load_parameters(stored)
        self.mixes = {int(k): (float(a), float(b), float(c)) for k, (a, b, c) in stored["mixes"].items()}
