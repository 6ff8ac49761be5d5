"""AICC+ in its third form: heat and presumption fitted to faults that were really driven, robust over the share of safe frames.

The second form (`cautious`) bets that a fault halves the share of safe frames. How safe a car stays under a fault nobody has
seen is unknown, so here every family of driven faults is judged at its *worst* share within a stated range. Which scores are
used, and whether there is a presumption at all, is chosen by leaving one family out at a time (docs/calibrators.md).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_weights import HeatShiftProblem, WorstShareProblem, base_logits, fit_within_budget, minimise
from donkey_aicc.calibration.base import mean_nll
from donkey_aicc.calibration.cautious import NLL_BUDGET, CautiousTemperature
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import fit_temperatures
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

SAFE_SHARES = (0.2, 0.8)  # of safe frames under a fault; also the range of the study's safe-share stress
SCORE_SETS = (
    ("log_rho", "delta_held_out"),
    ("log_rho", "delta_held_out", "latent"),
    ("log_rho", "log_rho_far", "delta_held_out", "delta_held_out_far"),
    ("log_rho", "log_rho_far", "delta_held_out", "delta_held_out_far", "latent", "latent_far"),
)
ROWS_PER_FAMILY = 400
CHOOSING_ROWS = 120  # of each family, to choose the form by: that takes many fits
CHOOSING_NOMINAL = 600
LEAST_OF_A_CLASS = 20  # labelled samples; a family with fewer says nothing about other shares
Families = dict[str, WorstShareProblem]


class RobustTemperature(CautiousTemperature):
    """logit(confidence) = logit(p) / T_k * exp(-w . s) - b . s, w, b >= 0, least worst-share NLL within a nominal budget."""

    kind = "robust_temperature"

    def __init__(
        self,
        name: str = "aicc_robust",
        label: str = "AICC+ robust",
        uses_tta: bool = True,
        nll_budget: float = NLL_BUDGET,
        safe_shares: tuple[float, float] = SAFE_SHARES,
    ) -> None:
        super().__init__(name, label, uses_tta, SCORE_SETS[0], nll_budget)
        if not 0.0 < safe_shares[0] <= safe_shares[1] < 1.0:
            raise AiccError(f"safe_shares must be two rising shares within (0, 1), got {safe_shares}")
        self.safe_shares = safe_shares
        self.presumes = True

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "RobustTemperature":
        pool = self.required_pool(pool)
        self.temperatures = fit_temperatures(table, self.probability_of(table), self.name)
        self.statistics = pool.statistics
        tried = self._try_all(pool)
        self.score_names, self.presumes = min(tried, key=lambda form: tried[form])
        families = self._family_problems(pool)
        self.weights, self.shifts = self._fitted(self._nominal_problem(pool), list(families.values()))
        self.fit_report = {
            "fitted_on": "driven faults" if pool.driven is not None else "D_aug pieces, because no driven faults were given",
            "families": list(families),
            "safe_shares": list(self.safe_shares),
            "nll_budget": self.nll_budget,
            "presumption": self.presumes,
            "left_out_family_nll": {_form_name(*form): loss for form, loss in tried.items()},
            "nominal_nll": mean_nll(self.predict(pool.nominal, pool.nominal_scores), pool.nominal.labels),
        }
        return self

    def _try_all(self, pool: Pool) -> dict[tuple[tuple[str, ...], bool], float]:
        """Form -> mean over families of the worst-share NLL of each family by a fit that has not seen it."""
        tried = {}
        for form in self._forms(pool):
            self.score_names, self.presumes = form
            nominal, families = self._nominal_problem(pool, CHOOSING_NOMINAL), self._family_problems(pool, CHOOSING_ROWS)
            count = len(self.score_names)
            whole = fit_within_budget(nominal, list(families.values()), count, self.nll_budget, self.presumes)
            losses = []
            for name, problem in families.items():
                others = [other for key, other in families.items() if key != name] or [problem]
                fitted = minimise(nominal, others, whole.multiplier, whole.parameters, self.presumes)
                losses.append(problem.nll(fitted))
            tried[form] = float(np.mean(losses))
        return tried

    def _forms(self, pool: Pool) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Score sets that this table has, without and with presumption."""
        for names in SCORE_SETS:
            if all(name in pool.nominal_scores for name in names):
                yield names, False
                yield names, True

    def _fit_parameters(self, nominal: HeatShiftProblem, families: list[Any]) -> np.ndarray:
        return fit_within_budget(nominal, families, len(self.score_names), self.nll_budget, self.presumes).parameters

    def _family_problems(self, pool: Pool, most: int = ROWS_PER_FAMILY) -> Families:  # type: ignore[override]
        table, by_name = (pool.augmented, pool.augmented_scores) if pool.driven is None else (pool.driven, pool.driven_scores)
        scores = self.required_scores(by_name, len(table))
        rng, problems = np.random.default_rng(pool.seed), {}
        for family in dict.fromkeys(table.protocol.tolist()):
            rows = rng.permutation(np.flatnonzero(table.protocol == family))[:most]
            labels = table.labels[rows]
            if min((labels == 1.0).sum(), (labels == 0.0).sum()) < LEAST_OF_A_CLASS:
                continue
            logits = base_logits(self.probability_of(table)[rows], table.horizons, self.temperatures)
            problems[family] = WorstShareProblem(logits, labels, scores[rows], self.safe_shares)
        if not problems:
            raise AiccError(f"calibrator {self.name} needs a fault family with safe and unsafe frames, got none")
        return problems

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"safe_shares": list(self.safe_shares), "presumes": self.presumes}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        super().load_parameters(stored)
        low, high = stored["safe_shares"]
        self.safe_shares, self.presumes = (float(low), float(high)), bool(stored["presumes"])


def _form_name(names: tuple[str, ...], presumes: bool) -> str:
    return " + ".join(names) + (", presuming" if presumes else "")
