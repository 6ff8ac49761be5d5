"""Temperature scaling whose temperature grows with the anomaly scores: the paper's calibrator (Section IV), and ours."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_weights import W_MAX, HeatingProblem, base_logits, fit_weights, validation_rows
from donkey_aicc.calibration.base import P_RESTORED, P_TTA, Calibrator, ScoreMap, logit, mean_nll, sigmoid
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import by_text, fit_temperatures, stored_temperatures
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import Scores
from donkey_aicc.stored import number

Part = tuple[str, ScoreTable, Scores]  # title, rows, their scores


class AnomalyTemperature(Calibrator):
    """T_eff = T_k exp(sum of w_s * s), w >= 0 shared by all horizons; confidence = sigmoid(logit(p) / T_eff).

    T_k from the nominal calibration rows; then w by NLL on the pool of cross-fitted nominal rows and D_aug.
    Without scores it is plain temperature scaling (the TTA row of the ablation).

    Safe by its form, since T_k > 0 and 0 <= w < infinity: the confidence never falls while p rises, no score raises it for
    p >= 1/2, and for p < 1/2 none brings it above 1/2. A score brings every confidence nearer to 1/2, and nothing else.
    """

    kind = "anomaly_temperature"

    def __init__(
        self,
        name: str = "tta_rho_delta",
        label: str = "TTA + rho + delta",
        starts_from: str = P_TTA,
        score_names: tuple[str, ...] = ("rho", "delta"),
    ) -> None:
        super().__init__(name, label, starts_from, score_names)
        self.temperatures: dict[int, float] = {}
        self.weights: dict[str, float] = {}

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "AnomalyTemperature":
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        self.weights = {}
        if not self.score_names:
            return self
        pool = self.required_pool(pool)
        self.statistics = pool.statistics
        self.weights = self._fit_weights(self.parts_of(pool), pool.seed)
        self.fit_report = self._pool_report(pool)
        return self

    def weights_by_family(self, pool: Pool) -> dict[str, dict[str, float]]:
        rows = {family: np.flatnonzero(pool.augmented.protocol == family) for family in pool.families()}
        return {family: self._fit_weights(nominal_and_pieces(pool, own), pool.seed) for family, own in rows.items()}

    def shown_weights(self) -> dict[str, float]:
        return dict(self.weights)

    def parts_of(self, pool: Pool) -> list[Part]:
        """What the weights are fitted on."""
        return nominal_and_pieces(pool, pool.balanced)

    def _fit_weights(self, parts: list[Part], seed: int) -> dict[str, float]:
        logits = np.concatenate([base_logits(self.probability_of(t), t.horizons, self.temperatures) for _, t, _ in parts])
        labels = np.concatenate([table.labels for _, table, _ in parts])
        scores = np.concatenate([self.required_scores(scores, len(table)) for _, table, scores in parts])
        held_out = np.concatenate([validation_rows(table.sequence, seed) for _, table, _ in parts])
        train, validation, whole = (
            HeatingProblem(logits[rows], labels[rows], scores[rows]) for rows in (~held_out, held_out, slice(None))
        )
        weights = fit_weights(train, validation, whole, len(self.score_names))
        return {name: float(weight) for name, weight in zip(self.score_names, weights, strict=True)}

    def _pool_report(self, pool: Pool) -> dict[str, float]:
        report: dict[str, float] = {}
        for title, part, scores in self.parts_of(pool):
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


def nominal_and_pieces(pool: Pool, rows: np.ndarray) -> list[Part]:
    """The nominal rows, and these rows of D_aug's pieces."""
    picked = {name: values[rows] for name, values in pool.augmented_scores.items()}
    return [("nominal", pool.nominal, pool.nominal_scores), ("augmented", pool.augmented.select(rows), picked)]


class RestoredTemperature(AnomalyTemperature):
    """AICC-R: the same on the probability of the restored view, with hindsight among the scores.

    The weights are fitted on the frames driven under faults of D_aug too, where there are any: in a piece of a nominal drive
    the car still does what was foreseen.
    """

    kind = "restored_temperature"

    def __init__(
        self,
        name: str = "aicc_r",
        label: str = "AICC-R",
        starts_from: str = P_RESTORED,
        score_names: tuple[str, ...] = ("rho", "delta", "hindsight"),
    ) -> None:
        super().__init__(name, label, starts_from, score_names)

    def parts_of(self, pool: Pool) -> list[Part]:
        driven: list[Part] = [] if pool.driven is None else [("driven", pool.driven, pool.driven_scores)]
        return super().parts_of(pool) + driven
