"""NLL of logit(c) = logit(p) / T_k * exp(-w . s) - b . s as a function of w and b, and its minimiser within a nominal budget.

w heats: the prediction counts for less. b shifts: the frame is taken to be less safe than the prediction says.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from donkey_aicc.errors import AiccError

UPPER = 3.0  # exp(3) = 20 times the temperature, and odds 20 times worse: more changes nothing a driver would notice
RIDGE = 1e-4  # decides between parameters that serve equally well
_START = 0.2
_MOST_NOMINAL = 1e4  # weight of the nominal NLL at which nothing else counts any more
_BISECTIONS = 10
_SMOOTHNESS = 0.01  # nats within which the worse of two shares is blended, so that a gradient exists


class Problem(Protocol):
    """Something to be made small; parameters: (2S,) w, then b."""

    def nll_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]: ...


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
        self._known = known
        weight = np.where(known, np.where(self._label > 0.5, safe, unsafe), 0.0)
        self._weight = weight / weight.sum()

    def nll(self, parameters: np.ndarray) -> float:
        """Mean negative log-likelihood in nats; parameters: (2S,) w, then b."""
        return self.nll_and_gradient(parameters)[0]

    def nll_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """The same with its derivative, (2S,)."""
        return self._weighted(parameters, [self._weight])[0]

    def _weighted(self, parameters: np.ndarray, weights: Sequence[np.ndarray]) -> list[tuple[float, np.ndarray]]:
        """NLL and gradient under each of several weightings (N, K) of the samples."""
        w, b = np.split(parameters, 2)
        cooled = np.exp(-(self._scores @ w))
        x = self._logit * cooled[:, None] - (self._scores @ b)[:, None]
        small = np.exp(-np.abs(x))  # shared by softplus and sigmoid
        loss = np.maximum(x, 0.0) + np.log1p(small) - self._label * x
        error = np.where(x >= 0, 1.0, small) / (1.0 + small) - self._label
        found = []
        for weight in weights:
            slope = error * weight
            by_w = -((slope * self._logit).sum(axis=1) * cooled) @ self._scores
            by_b = -slope.sum(axis=1) @ self._scores
            found.append((float((loss * weight).sum()), np.concatenate([by_w, by_b])))
        return found


class WorstShareProblem(HeatShiftProblem):
    """The same samples reweighted to any share of safe ones within a range; what counts is the worst share.

    The NLL is linear in the share, so the worst one is an end of the range.
    """

    def __init__(self, base_logit: np.ndarray, labels: np.ndarray, scores: np.ndarray, shares: tuple[float, float]) -> None:
        super().__init__(base_logit, labels, scores)
        safe = self._known & (self._label > 0.5)
        unsafe = self._known & ~safe
        if not safe.any() or not unsafe.any():
            raise AiccError("other safe shares need safe and unsafe samples, got one kind only")
        self._ends = [share * safe / safe.sum() + (1.0 - share) * unsafe / unsafe.sum() for share in shares]

    def nll_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Smooth maximum over the ends of the range."""
        found = self._weighted(parameters, self._ends)
        values = np.array([value for value, _ in found])
        blend = np.exp((values - values.max()) / _SMOOTHNESS)
        smooth = float(values.max() + _SMOOTHNESS * np.log(blend.mean()))
        return smooth, (blend / blend.sum()) @ np.array([gradient for _, gradient in found])


class Within(NamedTuple):
    """A fit that keeps to the budget, and the weight of the nominal NLL that it took."""

    parameters: np.ndarray  # (2S,) w, then b
    multiplier: float


def minimise(
    nominal: HeatShiftProblem, families: Sequence[Problem], multiplier: float, start: np.ndarray, shifts: bool = True
) -> np.ndarray:
    """(2S,) in [0, 3]: least mean NLL of the families plus multiplier times the nominal NLL; without shifts b stays 0."""
    from scipy.optimize import minimize  # only fits need it: the car loads no scipy

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        found = [family.nll_and_gradient(parameters) for family in families]
        loss = float(np.mean([value for value, _ in found])) + RIDGE * float(parameters @ parameters)
        gradient = np.mean([slope for _, slope in found], axis=0) + 2.0 * RIDGE * parameters
        nominal_loss, nominal_gradient = nominal.nll_and_gradient(parameters)
        return loss + multiplier * nominal_loss, gradient + multiplier * nominal_gradient

    upper = np.full(len(start), UPPER)
    if not shifts:
        upper[len(start) // 2 :] = 0.0
    bounds = [(0.0, highest) for highest in upper]
    found = minimize(objective, np.minimum(start, upper), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.clip(found.x, 0.0, upper)


def fit_within_budget(
    nominal: HeatShiftProblem, families: Sequence[Problem], count: int, extra_nll: float, shifts: bool = True
) -> Within:
    """Least mean NLL of the families with a nominal NLL of at most `extra_nll` above w = b = 0.

    The nominal NLL joins the objective with the smallest multiplier that keeps to the budget.
    """
    limit = nominal.nll(np.zeros(2 * count)) + extra_nll
    low, high = 0.0, 1.0
    fitted = minimise(nominal, families, 0.0, np.full(2 * count, _START), shifts)
    if nominal.nll(fitted) <= limit:
        return Within(fitted, 0.0)
    while nominal.nll(fitted := minimise(nominal, families, high, fitted, shifts)) > limit:
        low, high = high, 4.0 * high
        if high > _MOST_NOMINAL:
            return Within(np.zeros(2 * count), high)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        tried = minimise(nominal, families, middle, fitted, shifts)
        if nominal.nll(tried) <= limit:
            high, fitted = middle, tried
        else:
            low = middle
    return Within(fitted, high)
