"""The paper's calibrator: temperature scaling whose temperature grows with the anomaly scores (paper, Section IV)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_weights import W_MAX, HeatingProblem, base_logits, fit_weights, validation_rows
from donkey_aicc.calibration.base import (
    Calibrator,
    ScoreMap,
    logit,
    mean_nll,
    sigmoid,
)
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import by_text, fit_temperatures, stored_temperatures
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.stored import number


class AnomalyTemperature(Calibrator):
    """T_eff = T_k exp(sum of w_s * s), w >= 0 shared by all horizons; confidence = sigmoid(logit(p) / T_eff).

    T_k > 0 and w >= 0: every score in [0, 1] only ever heats, and heat moves the confidence towards 1/2 without passing it.
    T_k from the nominal calibration rows; then w by NLL on the pool of cross-fitted nominal rows and D_aug.
    Without scores it is plain temperature scaling (the TTA row of the ablation).
    """

    kind = "anomaly_temperature"

    def __init__(
        self,
        name: str = "tta_rho_delta",
        label: str = "TTA + rho + delta",
        uses_tta: bool = True,
        score_names: tuple[str, ...] = ("rho", "delta"),
    ) -> None:
        super().__init__(name, label, uses_tta, score_names)
        self.temperatures: dict[int, float] = {}
        self.weights: dict[str, float] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "AnomalyTemperature":
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        self.weights = {}
        if not self.score_names:
            return self
        pool = self.required_pool(pool)
        self.statistics = pool.statistics
        self.weights = self._fit_pool_weights(pool, pool.balanced)
        self.fit_report = self._pool_report(pool)
        return self

    def weights_by_family(self, pool: Pool) -> dict[str, dict[str, float]]:
        return {
            family: self._fit_pool_weights(pool, np.flatnonzero(pool.augmented.protocol == family)) for family in pool.families()
        }

    def shown_weights(self) -> dict[str, float]:
        return dict(self.weights)

    def _fit_pool_weights(self, pool: Pool, augmented_rows: np.ndarray) -> dict[str, float]:
        logits, labels, scores, held_out = self._stacked(pool, augmented_rows)
        train = HeatingProblem(logits[~held_out], labels[~held_out], scores[~held_out])
        validation = HeatingProblem(logits[held_out], labels[held_out], scores[held_out])
        weights = fit_weights(train, validation, HeatingProblem(logits, labels, scores), scores.shape[1])
        return {name: float(weight) for name, weight in zip(self.score_names, weights, strict=True)}

    def _stacked(self, pool: Pool, augmented_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        augmented = pool.augmented.select(augmented_rows)
        logits, labels, scores, held_out = [], [], [], []
        picked = {name: values[augmented_rows] for name, values in pool.augmented_scores.items()}
        for part, part_scores in ((pool.nominal, pool.nominal_scores), (augmented, picked)):
            logits.append(base_logits(self.probability_of(part), part.horizons, self.temperatures))
            labels.append(part.labels)
            scores.append(self.required_scores(part_scores, len(part)))
            held_out.append(validation_rows(part.sequence, pool.seed))
        return np.concatenate(logits), np.concatenate(labels), np.concatenate(scores), np.concatenate(held_out)

    def _pool_report(self, pool: Pool) -> dict[str, float]:
        augmented = pool.augmented.select(pool.balanced)
        augmented_scores = {name: values[pool.balanced] for name, values in pool.augmented_scores.items()}
        report: dict[str, float] = {}
        for part, scores, title in (
            (pool.nominal, pool.nominal_scores, "nominal"),
            (augmented, augmented_scores, "augmented"),
        ):
            nothing = {name: np.zeros(len(part)) for name in self.score_names}
            report[f"{title}_rows"] = len(part)
            report[f"{title}_nll"] = mean_nll(self.predict(part, scores), part.labels)
            report[f"{title}_nll_without_scores"] = mean_nll(self.predict(part, nothing), part.labels)
        return report

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return self.calibrate_all(np.asarray(p)[:, None], scores, (horizon,))[:, 0]

    def calibrate_all(self, p: np.ndarray, scores: ScoreMap, horizons: Iterable[int]) -> np.ndarray:
        weights = np.array([self.weights[name] for name in self.score_names])
        heat = self.required_scores(scores, len(p)) @ weights
        temperatures = np.array([self.of_horizon(self.temperatures, int(horizon)) for horizon in horizons])
        return sigmoid(logit(p) / (temperatures * np.exp(heat)[:, None]))

    def parameters(self) -> dict[str, Any]:
        return {"temperatures": by_text(self.temperatures), "weights": dict(self.weights)}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.temperatures = stored_temperatures(stored["temperatures"])
        self.weights = {name: number(f"the weight of {name}", stored["weights"][name], 0.0, W_MAX) for name in self.score_names}
