"""The ablation that works on probabilities instead of logits: shrinkage toward 0.5 by the anomaly scores."""

from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_weights import STARTS, validation_rows
from donkey_aicc.calibration.base import (
    P_SAFE,
    Calibrator,
    ScoreMap,
    checked_probability,
    clip_probability,
    labelled_samples,
    sigmoid,
)
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.stored import number

_W_MAX, _OFFSET_MAX = 20.0, 10.0


class Shrinkage(Calibrator):
    """confidence = (1 - alpha) p + alpha / 2, alpha = sigmoid(a rho + b delta + c), a, b >= 0, shared by all horizons.

    alpha is in (0, 1) and rises with every score: the confidence rises with p and moves towards 1/2 without passing it.
    """

    kind = "shrinkage"

    def __init__(
        self,
        name: str = "shrinkage",
        label: str = "Shrinkage (rho + delta)",
        starts_from: str = P_SAFE,
        score_names: tuple[str, ...] = ("rho", "delta"),
    ) -> None:
        super().__init__(name, label, starts_from, score_names)
        self.weights: dict[str, float] = {}
        self.offset = -_OFFSET_MAX

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "Shrinkage":
        from scipy.optimize import minimize  # only fits need it: the car loads no scipy

        pool = self.required_pool(pool)
        for column in range(len(table.horizons)):
            labelled_samples(table, self.probability_of(table), column, self.name)  # both classes or a clear message
        self.statistics = pool.statistics
        p, labels, scores, held_out = self._stacked(pool)
        train = _Problem(p[~held_out], labels[~held_out], scores[~held_out])
        validation = _Problem(p[held_out], labels[held_out], scores[held_out])
        bounds = [(0.0, _W_MAX)] * len(self.score_names) + [(-_OFFSET_MAX, _OFFSET_MAX)]
        starts = [np.append(np.full(len(self.score_names), start), -2.0) for start in STARTS]
        fits = [minimize(train, start, jac=True, method="L-BFGS-B", bounds=bounds).x for start in starts]
        chosen = min(fits, key=lambda parameters: validation(parameters)[0])
        best = minimize(_Problem(p, labels, scores), chosen, jac=True, method="L-BFGS-B", bounds=bounds).x
        self.weights = {name: float(max(w, 0.0)) for name, w in zip(self.score_names, best[:-1], strict=True)}
        self.offset = float(best[-1])
        return self

    def _stacked(self, pool: Pool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        augmented = pool.augmented.select(pool.balanced)
        picked = {name: values[pool.balanced] for name, values in pool.augmented_scores.items()}
        parts = ((pool.nominal, pool.nominal_scores), (augmented, picked))
        p = np.concatenate([checked_probability(self.probability_of(part)) for part, _ in parts])
        labels = np.concatenate([part.labels for part, _ in parts])
        scores = np.concatenate([self.required_scores(values, len(part)) for part, values in parts])
        return p, labels, scores, np.concatenate([validation_rows(part.sequence, pool.seed) for part, _ in parts])

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        weights = np.array([self.weights[name] for name in self.score_names])
        alpha = sigmoid(self.required_scores(scores, len(p)) @ weights + self.offset)
        return clip_probability((1.0 - alpha) * checked_probability(p) + alpha / 2.0)

    def parameters(self) -> dict[str, Any]:
        return {"weights": dict(self.weights), "offset": self.offset}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.weights = {name: number(f"the weight of {name}", stored["weights"][name], 0.0, _W_MAX) for name in self.score_names}
        self.offset = number("the offset of the shrinkage", stored["offset"], -_OFFSET_MAX, _OFFSET_MAX)


class _Problem:
    """NLL and gradient by (weights..., offset)."""

    def __init__(self, p: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> None:
        self._known = ~np.isnan(labels)
        self._right = np.where(self._known, np.where(labels > 0.5, p, 1.0 - p), 0.5)  # probability given to the truth
        self._inputs = np.column_stack([scores, np.ones(len(scores))])

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        alpha = sigmoid(self._inputs @ parameters)[:, None]
        given = clip_probability((1.0 - alpha) * self._right + alpha / 2.0)
        count = self._known.sum()
        by_alpha = np.where(self._known, -(0.5 - self._right) / given, 0.0).sum(axis=1)
        slope = by_alpha * (alpha * (1.0 - alpha))[:, 0]
        return float(-np.log(given)[self._known].sum() / count), slope @ self._inputs / count
