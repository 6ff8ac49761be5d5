"""AICC+: as much caution under anomaly as nominal calibration can afford.

The form is the paper's, T_eff = T_k exp(w . s), but the weights are not those of the least average NLL: they serve the
worst-served augmented family, and the cross-validated nominal NLL must stay within a stated budget of plain temperature
scaling. Which scores are used is decided by families left out of the fit. docs/calibrators.md tells the steps.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.heating import HeatingProblem, base_logits
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import fit_temperatures
from donkey_aicc.calibration.worst_case import Budget, best_alone, worst_case_weights
from donkey_aicc.errors import AiccError
from donkey_aicc.score_table import ScoreTable

NLL_BUDGET = 0.01  # nats a nominal frame may cost more than under plain temperature scaling
SCORE_SETS = (
    ("rho", "delta"),
    ("log_rho", "delta_held_out", "latent"),
    ("log_rho_far", "delta_held_out_far", "latent_far"),
    ("log_rho", "delta_held_out", "latent", "density", "tta_spread"),
    ("log_rho", "delta_held_out", "latent", "log_rho_far", "delta_held_out_far", "latent_far", "density_far"),
)
ROWS_PER_FAMILY = 300  # while choosing the scores; rows of a sequence resemble each other
NOMINAL_ROWS = 3000  # likewise
FINAL_ROWS_PER_FAMILY = 2000


@dataclass(frozen=True)
class _Choice:
    """One set of scores: what each family would cost at best, and what it costs when it was left out of the fit."""

    score_names: tuple[str, ...]
    best_nll: dict[str, float]
    left_out_nll: dict[str, float]


class BudgetedTemperature(AnomalyTemperature):
    """The paper's form with weights as cautious as a nominal NLL budget allows."""

    kind = "budgeted_temperature"

    def __init__(
        self,
        name: str = "aicc_plus",
        label: str = "AICC+",
        uses_tta: bool = True,
        score_sets: tuple[tuple[str, ...], ...] = SCORE_SETS,
        nll_budget: float = NLL_BUDGET,
    ) -> None:
        super().__init__(name, label, uses_tta, ())
        if nll_budget < 0 or not score_sets:
            raise AiccError(f"nll_budget must be >= 0 and score_sets not empty, got {nll_budget} and {score_sets}")
        self.score_sets = score_sets
        self.nll_budget = nll_budget

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "BudgetedTemperature":
        pool = self.required_pool(pool)
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        self.statistics = pool.statistics
        known = [names for names in self.score_sets if all(name in pool.nominal_scores for name in names)]
        if not known:
            raise AiccError(f"none of the score sets {self.score_sets} is in the score table: {sorted(pool.nominal_scores)}")
        logits = self._held_out_logits(pool)
        choices = [self._try_scores(names, pool, logits) for names in known]
        worst = _worst_left_out_regret(choices)
        chosen = choices[int(np.argmin(worst))]
        self.score_names = chosen.score_names
        weights = self._final_weights(pool, logits)
        self.weights = {name: float(weight) for name, weight in zip(self.score_names, weights, strict=True)}
        self.fit_report = self._pool_report(pool) | {
            "nll_budget": self.nll_budget,
            "hurt_families": list(chosen.left_out_nll),
            "left_out_nll": chosen.left_out_nll,
            "worst_left_out_regret": {"+".join(c.score_names): value for c, value in zip(choices, worst, strict=True)},
        }
        return self

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {
            "nll_budget": self.nll_budget,
            "score_sets": [list(names) for names in self.score_sets],
        }

    def load_parameters(self, stored: dict[str, Any]) -> None:
        super().load_parameters(stored)
        self.nll_budget = float(stored["nll_budget"])
        self.score_sets = tuple(tuple(names) for names in stored["score_sets"])

    def _try_scores(self, names: tuple[str, ...], pool: Pool, logits: np.ndarray) -> _Choice:
        budget = self._budget(names, pool, logits, NOMINAL_ROWS)
        families = self._hurt_families(names, pool, ROWS_PER_FAMILY)
        best = {family: best_alone(problem, len(names)) for family, problem in families.items()}
        left_out = {}
        for family, problem in families.items():
            others = {name: other for name, other in families.items() if name != family} or families
            left_out[family] = problem.nll(worst_case_weights(others, best, budget, len(names)))
        return _Choice(names, best, left_out)

    def _final_weights(self, pool: Pool, logits: np.ndarray) -> np.ndarray:
        """All families, all nominal rows."""
        count = len(self.score_names)
        families = self._hurt_families(self.score_names, pool, FINAL_ROWS_PER_FAMILY)
        best = {family: best_alone(problem, count) for family, problem in families.items()}
        return worst_case_weights(families, best, self._budget(self.score_names, pool, logits, len(pool.nominal)), count)

    def _held_out_logits(self, pool: Pool) -> np.ndarray:
        """(N, K) logit(p) / T_k of the nominal rows, T_k from the other folds."""
        p = self.probability_of(pool.nominal)
        logits = np.empty(p.shape)
        for number in range(int(pool.fold.max()) + 1):
            own = pool.fold == number
            others = pool.nominal.select(~own)
            temperatures = fit_temperatures(others, self.probability_of(others), self.name)
            logits[own] = base_logits(p[own], pool.nominal.horizons, temperatures)
        return logits

    def _budget(self, names: tuple[str, ...], pool: Pool, logits: np.ndarray, rows: int) -> Budget:
        picked = np.random.default_rng(pool.seed).permutation(len(pool.nominal))[:rows]
        scores = _columns(pool.nominal_scores, names)[picked]
        return Budget.of(HeatingProblem(logits[picked], pool.nominal.labels[picked], scores), len(names), self.nll_budget)

    def _hurt_families(self, names: tuple[str, ...], pool: Pool, rows: int) -> dict[str, HeatingProblem]:
        """The families on which the predictor does worse than on nominal data; all of them if none is.

        A family that hurts nothing says only that caution was not needed there; nominal data alone limits caution.
        """
        rng = np.random.default_rng(pool.seed)
        scores, problems = _columns(pool.augmented_scores, names), {}
        for family in pool.families():
            picked = rng.permutation(np.flatnonzero(pool.augmented.protocol == family))[:rows]
            part = pool.augmented.select(picked)
            if np.isnan(part.labels).all():
                raise AiccError(f"augmented family {family} has no labelled row")
            logits = base_logits(self.probability_of(part), part.horizons, self.temperatures)
            problems[family] = HeatingProblem(logits, part.labels, scores[picked])
        nothing = np.zeros(len(names))
        nominal_logits = base_logits(self.probability_of(pool.nominal), pool.nominal.horizons, self.temperatures)
        calm = HeatingProblem(nominal_logits, pool.nominal.labels, np.zeros((len(pool.nominal), len(names)))).nll(nothing)
        hurt = {family: problem for family, problem in problems.items() if problem.nll(nothing) > calm + self.nll_budget}
        return hurt or problems


def _columns(scores: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    return np.stack([scores[name] for name in names], axis=1)


def _worst_left_out_regret(choices: list[_Choice]) -> list[float]:
    """Per choice: the most that a left-out family costs above the best that any set of scores could do for it."""
    shared = set.intersection(*(set(choice.left_out_nll) for choice in choices))
    best = {family: min(choice.best_nll[family] for choice in choices) for family in shared}
    return [max(choice.left_out_nll[family] - best[family] for family in best) for choice in choices]
