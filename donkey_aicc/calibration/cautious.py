"""AICC+: an anomaly makes the prediction count for less, and the car presumed less safe.

D_aug changes pictures and commands of drives that went well, so its frames are safe as often as nominal ones. A fault that
the car really drives with is another matter: it never makes the car safer, and nobody knows how much less safe it gets. So
D_aug is counted as if the share of safe frames were anything between none and nominal, half of it on average; what that
teaches is limited by a budget of nominal NLL. docs/calibrators.md has the reasons.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_weights import HeatShiftProblem, base_logits, fit_within_budget
from donkey_aicc.calibration.base import Calibrator, ScoreMap, logit, mean_nll, non_negative, sigmoid
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import by_text, fit_temperatures, stored_temperatures
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

NLL_BUDGET = 0.01  # nats a nominal frame may cost more than under plain temperature scaling
SAFE_SHARE_LEFT = 0.5  # of the nominal share of safe frames: the middle of all (a harmless fault) and nothing
SCORES = ("log_rho", "delta_held_out", "latent")
ROWS_PER_FAMILY = 600  # rows of a sequence resemble each other; more only take time
NOMINAL_ROWS = 4000


class CautiousTemperature(Calibrator):
    """logit(confidence) = logit(p) / T_k * exp(-w . s) - b . s with w, b >= 0 shared by all horizons."""

    kind = "cautious_temperature"

    def __init__(
        self,
        name: str = "aicc_plus",
        label: str = "AICC+",
        uses_tta: bool = True,
        score_names: tuple[str, ...] = SCORES,
        nll_budget: float = NLL_BUDGET,
        safe_share_left: float = SAFE_SHARE_LEFT,
    ) -> None:
        super().__init__(name, label, uses_tta, score_names)
        if nll_budget < 0 or not 0 < safe_share_left <= 1 or not score_names:
            raise AiccError(
                "AICC+ needs nll_budget >= 0, safe_share_left in (0, 1] and at least one score; "
                f"got {nll_budget}, {safe_share_left} and {score_names}"
            )
        self.nll_budget, self.safe_share_left = nll_budget, safe_share_left
        self.temperatures: dict[int, float] = {}
        self.weights: dict[str, float] = {}  # w
        self.shifts: dict[str, float] = {}  # b

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "CautiousTemperature":
        pool = self.required_pool(pool)
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        self.statistics = pool.statistics
        nominal = self._nominal_problem(pool)
        families = self._family_problems(pool)
        self.weights, self.shifts = self._fitted(nominal, list(families.values()))
        self.fit_report = {
            "nll_budget": self.nll_budget,
            "safe_share_left": self.safe_share_left,
            "nominal_nll": mean_nll(self.predict(pool.nominal, pool.nominal_scores), pool.nominal.labels),
            "augmented_nll": mean_nll(self.predict(pool.augmented, pool.augmented_scores), pool.augmented.labels),
        }
        return self

    def weights_by_family(self, pool: Pool) -> dict[str, dict[str, float]]:
        nominal = self._nominal_problem(pool)
        return {family: _together(*self._fitted(nominal, [problem])) for family, problem in self._family_problems(pool).items()}

    def shown_weights(self) -> dict[str, float]:
        return _together(self.weights, self.shifts)

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return self.calibrate_all(np.asarray(p)[:, None], scores, (horizon,))[:, 0]

    def calibrate_all(self, p: np.ndarray, scores: ScoreMap, horizons: Iterable[int]) -> np.ndarray:
        columns = self.required_scores(scores, len(p))
        heat = columns @ np.array([self.weights[name] for name in self.score_names])
        shift = columns @ np.array([self.shifts[name] for name in self.score_names])
        temperatures = np.array([self.of_horizon(self.temperatures, int(horizon)) for horizon in horizons])
        return sigmoid(logit(p) / temperatures * np.exp(-heat)[:, None] - shift[:, None])

    def parameters(self) -> dict[str, Any]:
        return {
            "temperatures": by_text(self.temperatures),
            "weights": dict(self.weights),
            "shifts": dict(self.shifts),
            "nll_budget": self.nll_budget,
            "safe_share_left": self.safe_share_left,
        }

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.temperatures = stored_temperatures(stored["temperatures"])
        self.weights = {name: non_negative(name, stored["weights"][name]) for name in self.score_names}
        self.shifts = {name: float(stored["shifts"][name]) for name in self.score_names}
        self.nll_budget, self.safe_share_left = float(stored["nll_budget"]), float(stored["safe_share_left"])

    def _fitted(self, nominal: HeatShiftProblem, families: list[HeatShiftProblem]) -> tuple[dict[str, float], dict[str, float]]:
        w, b = np.split(self._fit_parameters(nominal, families), 2)
        return _named(self.score_names, w), _named(self.score_names, b)

    def _fit_parameters(self, nominal: HeatShiftProblem, families: list[HeatShiftProblem]) -> np.ndarray:
        return fit_within_budget(nominal, families, len(self.score_names), self.nll_budget).parameters

    def _nominal_problem(self, pool: Pool, most: int = NOMINAL_ROWS) -> HeatShiftProblem:
        """Every fold with the T_k and the score statistics of the others; with few drives they may lack a class: then all T_k."""
        table, p = pool.nominal, self.probability_of(pool.nominal)
        logits = np.empty(p.shape)
        for number in range(int(pool.fold.max()) + 1):
            own = pool.fold == number
            others = table.select(~own)
            try:
                temperatures = fit_temperatures(others, self.probability_of(others), self.name)
            except AiccError:
                temperatures = self.temperatures
            logits[own] = base_logits(p[own], table.horizons, temperatures)
        rows = np.random.default_rng(pool.seed).permutation(len(table))[:most]
        scores = self.required_scores(pool.nominal_scores, len(table))
        return HeatShiftProblem(logits[rows], table.labels[rows], scores[rows])

    def _family_problems(self, pool: Pool) -> dict[str, HeatShiftProblem]:
        safe = float(np.nanmean(pool.nominal.labels))
        unsafe_weight = (1.0 - self.safe_share_left * safe) / (1.0 - safe)  # both classes occur, or T_k had been refused
        scores = self.required_scores(pool.augmented_scores, len(pool.augmented))
        rng, problems = np.random.default_rng(pool.seed), {}
        for family in pool.families():
            rows = rng.permutation(np.flatnonzero(pool.augmented.protocol == family))[:ROWS_PER_FAMILY]
            part = pool.augmented.select(rows)
            if np.isnan(part.labels).all():
                raise AiccError(f"augmented family {family} has no labelled row")
            logits = base_logits(self.probability_of(part), part.horizons, self.temperatures)
            problems[family] = HeatShiftProblem(logits, part.labels, scores[rows], self.safe_share_left, unsafe_weight)
        return problems


def _named(names: tuple[str, ...], values: np.ndarray) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def _together(weights: dict[str, float], shifts: dict[str, float]) -> dict[str, float]:
    """One dictionary for tables."""
    return weights | {f"{name} (shift)": value for name, value in shifts.items()}
