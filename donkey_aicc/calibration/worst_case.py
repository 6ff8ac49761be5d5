"""Weights that serve the worst-served augmented family best, within a budget of nominal NLL."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from donkey_aicc.calibration.heating import HeatingProblem, minimise_weights

W_CAP = 5.0  # exp(5) = 148 times the temperature: nothing is left to cool down
SHARPNESS = 20.0  # of the soft maximum over families: at most ln(11) / 20 = 0.12 nats above the true one
RIDGE = 1e-4  # decides between weights that serve equally well
_START = 0.3


@dataclass(frozen=True)
class Budget:
    """Nominal rows (scores and T_k from other folds) and the NLL they may reach."""

    nominal: HeatingProblem
    limit: float

    @classmethod
    def of(cls, nominal: HeatingProblem, scores: int, extra_nll: float) -> "Budget":
        """extra_nll: nats above plain temperature scaling, which is w = 0."""
        return cls(nominal, nominal.nll(np.zeros(scores)) + extra_nll)

    def shrink(self, weights: np.ndarray) -> np.ndarray:
        """The longest vector along `weights`, at most themselves, that keeps to the limit."""
        if self.nominal.nll(weights) <= self.limit:
            return weights
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.nominal.nll(middle * weights) <= self.limit else (low, middle)
        return low * weights


def best_alone(family: HeatingProblem, count: int) -> float:
    """The least NLL a family could have if the weights were made for it alone."""
    return family.nll(minimise_weights(family.nll_and_gradient, np.full(count, _START), W_CAP))


def worst_case_weights(
    families: Mapping[str, HeatingProblem], best: Mapping[str, float], budget: Budget, count: int
) -> np.ndarray:
    """(S,) w in [0, 5]: least soft maximum over families of NLL - best, with nominal NLL within the budget.

    Regret instead of NLL: a family whose labels nobody can predict would otherwise decide alone.
    """

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        found = {name: family.nll_and_gradient(weights) for name, family in families.items()}
        regrets = np.array([loss - best[name] for name, (loss, _) in found.items()])
        share = np.exp(SHARPNESS * (regrets - regrets.max()))
        worst = regrets.max() + np.log(share.sum()) / SHARPNESS
        gradient = (share / share.sum()) @ np.stack([slope for _, slope in found.values()])
        return float(worst + RIDGE * (weights @ weights)), gradient + 2.0 * RIDGE * weights

    constraint = {
        "type": "ineq",
        "fun": lambda weights: budget.limit - budget.nominal.nll(weights),
        "jac": lambda weights: -budget.nominal.nll_and_gradient(weights)[1],
    }
    found = minimize(
        objective,
        budget.shrink(np.full(count, _START)),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, W_CAP)] * count,
        constraints=[constraint],
        options={"maxiter": 60, "ftol": 1e-6},
    )
    return budget.shrink(np.clip(found.x, 0.0, W_CAP))
