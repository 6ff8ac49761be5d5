"""AICC+: as much caution under anomaly as nominal calibration can afford.

The form is the paper's, T_eff = T_k exp(w . s), but the weights are not those of the least average NLL. Their direction is
the one that helps the worst augmented family that was left out; their size is the largest whose cross-validated
nominal NLL stays within a stated budget of plain temperature scaling. Only nominal calibration data and D_aug are used.
docs/calibrators.md tells the steps.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.heating import W_MAX, HeatingProblem, base_logits, minimise_weights
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import fit_temperatures
from donkey_aicc.errors import AiccError
from donkey_aicc.score_table import ScoreTable

NLL_BUDGET = 0.01  # nats a nominal frame may cost more than under plain temperature scaling
SCORE_SETS = (
    ("rho", "delta"),
    ("log_rho", "delta"),
    ("log_rho", "delta", "latent"),
    ("log_rho", "delta", "density"),
    ("log_rho", "delta", "latent", "density", "tta_spread"),
)
ROWS_PER_FAMILY = 1000
WORST_SHARPNESS = 20.0  # of the soft maximum over families: within ln(11) / 20 = 0.12 nats of the true maximum
RIDGE = 1e-3  # among directions that serve the worst family equally well, prefer the one spread over several scores


@dataclass(frozen=True)
class _Choice:
    """One set of scores with the direction and size found for it."""

    score_names: tuple[str, ...]
    weights: np.ndarray  # (S,)
    left_out_nll: dict[str, float]  # family -> NLL on it, of the weights found without it

    @property
    def worst(self) -> float:
        return max(self.left_out_nll.values())


class BudgetedTemperature(AnomalyTemperature):
    """The paper's form with weights as large as a nominal NLL budget allows."""

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
        choices = [self._choose(names, pool) for names in known]
        best = min(choices, key=lambda choice: choice.worst)
        self.score_names = best.score_names
        self.weights = {name: float(weight) for name, weight in zip(best.score_names, best.weights, strict=True)}
        self.fit_report = self._pool_report(pool) | {
            "nll_budget": self.nll_budget,
            "left_out_nll": best.left_out_nll,
            "worst_left_out_nll_by_scores": {"+".join(choice.score_names): choice.worst for choice in choices},
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

    def _choose(self, names: tuple[str, ...], pool: Pool) -> _Choice:
        """Direction without each family in turn, sized by the budget, judged on the family left out."""
        nominal = self._nominal_problem(names, pool)
        families = self._family_problems(names, pool)
        directions, left_out = [], {}
        for family, problem in families.items():
            others = [other for name, other in families.items() if name != family] or [problem]
            directions.append(_worst_case_direction(others, len(names)))
            left_out[family] = problem.nll(self._sized(directions[-1], nominal))
        return _Choice(names, self._sized(_unit(np.mean(directions, axis=0)), nominal), left_out)

    def _nominal_problem(self, names: tuple[str, ...], pool: Pool) -> HeatingProblem:
        """Nominal rows whose scores and whose T_k both come from the other folds."""
        p = self.probability_of(pool.nominal)
        logits = np.empty_like(p, dtype=np.float64)
        for number in range(int(pool.fold.max()) + 1):
            own = pool.fold == number
            others = pool.nominal.select(~own)
            temperatures = fit_temperatures(others, self.probability_of(others), self.name)
            logits[own] = base_logits(p[own], pool.nominal.horizons, temperatures)
        return HeatingProblem(logits, pool.nominal.labels, _columns(pool.nominal_scores, names))

    def _family_problems(self, names: tuple[str, ...], pool: Pool) -> dict[str, HeatingProblem]:
        rng = np.random.default_rng(pool.seed)
        scores, problems = _columns(pool.augmented_scores, names), {}
        for family in pool.families():
            rows = rng.permutation(np.flatnonzero(pool.augmented.protocol == family))[:ROWS_PER_FAMILY]
            part = pool.augmented.select(rows)
            if np.isnan(part.labels).all():
                raise AiccError(f"augmented family {family} has no labelled row")
            logits = base_logits(self.probability_of(part), part.horizons, self.temperatures)
            problems[family] = HeatingProblem(logits, part.labels, scores[rows])
        return problems

    def _sized(self, direction: np.ndarray, nominal: HeatingProblem) -> np.ndarray:
        """The longest weight vector along the direction that keeps to the budget."""
        limit = nominal.nll(np.zeros(len(direction))) + self.nll_budget
        low, high = 0.0, W_MAX
        if not direction.any() or nominal.nll(high * direction) <= limit:
            return high * direction
        for _ in range(20):  # the NLL falls at most once and then rises, so one crossing lies between low and high
            middle = (low + high) / 2.0
            low, high = (middle, high) if nominal.nll(middle * direction) <= limit else (low, middle)
        return low * direction


def _columns(scores: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    return np.stack([scores[name] for name in names], axis=1)


def _unit(weights: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(weights))
    return weights / length if length > 0 else weights


def _worst_case_direction(families: list[HeatingProblem], count: int) -> np.ndarray:
    """Unit w >= 0 (or zero) with the least soft maximum of the families' NLL."""

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        found = [family.nll_and_gradient(weights) for family in families]
        losses = np.array([loss for loss, _ in found])
        share = np.exp(WORST_SHARPNESS * (losses - losses.max()))
        worst = losses.max() + np.log(share.sum()) / WORST_SHARPNESS
        gradient = (share / share.sum()) @ np.stack([slope for _, slope in found])
        return float(worst + RIDGE * (weights @ weights)), gradient + 2.0 * RIDGE * weights

    return _unit(minimise_weights(objective, np.full(count, 0.5)))
