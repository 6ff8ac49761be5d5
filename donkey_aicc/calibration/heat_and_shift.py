"""NLL of logit(c) = logit(p) / T_k * exp(-w . s) - b . s as a function of w and b, and its minimiser within a nominal budget.

w heats: the prediction counts for less. b shifts: the frame is taken to be less safe than the prediction says.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from donkey_aicc.calibration.probability import sigmoid
from donkey_aicc.errors import AiccError

UPPER = 3.0  # exp(3) = 20 times the temperature, and odds 20 times worse: more changes nothing a driver would notice
RIDGE = 1e-4  # decides between parameters that serve equally well
_START = 0.2
_MOST_NOMINAL = 1e4  # weight of the nominal NLL at which nothing else counts any more
_BISECTIONS = 10


class HeatShiftProblem:
    """Labelled samples with fixed base logits; safe and unsafe samples may count differently."""

    def __init__(self, base_logit: np.ndarray, labels: np.ndarray, scores: np.ndarray, safe: float = 1.0, unsafe: float = 1.0):
        """base_logit: (N, K) logit(p) / T_k, labels: (N, K) with NaN unknown, scores: (N, S); safe, unsafe: their weights."""
        known = ~np.isnan(labels)
        if not known.any():
            raise AiccError("no labelled sample to fit anomaly weights on")
        self._logit = np.where(known, base_logit, 0.0)
        self._label = np.where(known, labels > 0.5, 0.0)
        self._scores = scores
        weight = np.where(known, np.where(self._label > 0.5, safe, unsafe), 0.0)
        self._weight = weight / weight.sum()

    def nll(self, parameters: np.ndarray) -> float:
        """Mean negative log-likelihood in nats; parameters: (2S,) w, then b."""
        return self.nll_and_gradient(parameters)[0]

    def nll_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """The same with its derivative, (2S,)."""
        w, b = np.split(parameters, 2)
        cooled = np.exp(-(self._scores @ w))
        x = self._logit * cooled[:, None] - (self._scores @ b)[:, None]
        loss = np.logaddexp(0.0, x) - self._label * x
        slope = (sigmoid(x) - self._label) * self._weight
        by_w = -((slope * self._logit).sum(axis=1) * cooled) @ self._scores
        by_b = -slope.sum(axis=1) @ self._scores
        return float((loss * self._weight).sum()), np.concatenate([by_w, by_b])


def fit_within_budget(
    nominal: HeatShiftProblem, families: Sequence[HeatShiftProblem], count: int, extra_nll: float
) -> np.ndarray:
    """(2S,) in [0, 3]: least mean NLL of the families with a nominal NLL of at most `extra_nll` above w = b = 0.

    The nominal NLL joins the objective with the smallest multiplier that keeps to the budget.
    """
    limit = nominal.nll(np.zeros(2 * count)) + extra_nll

    def best(multiplier: float, start: np.ndarray) -> np.ndarray:
        def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            found = [family.nll_and_gradient(parameters) for family in families]
            loss = float(np.mean([value for value, _ in found])) + RIDGE * float(parameters @ parameters)
            gradient = np.mean([slope for _, slope in found], axis=0) + 2.0 * RIDGE * parameters
            nominal_loss, nominal_gradient = nominal.nll_and_gradient(parameters)
            return loss + multiplier * nominal_loss, gradient + multiplier * nominal_gradient

        found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0.0, UPPER)] * (2 * count))
        return np.clip(found.x, 0.0, UPPER)

    low, high = 0.0, 1.0
    fitted = best(0.0, np.full(2 * count, _START))
    if nominal.nll(fitted) <= limit:
        return fitted
    while nominal.nll(fitted := best(high, fitted)) > limit:
        low, high = high, 4.0 * high
        if high > _MOST_NOMINAL:
            return np.zeros(2 * count)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        tried = best(middle, fitted)
        if nominal.nll(tried) <= limit:
            high, fitted = middle, tried
        else:
            low = middle
    return fitted
