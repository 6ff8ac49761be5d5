"""How much an anomaly score shall count: two losses as functions of the weights w >= 0, and their minimisers.

Heating: NLL of T_eff = T_k exp(w . s), the prediction counts for less. Heating and shifting: NLL of
logit(c) = logit(p) / T_k * exp(-w . s) - b . s within a nominal budget; b shifts: the frame is taken to be less safe than the
prediction says.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from donkey_aicc.calibration.base import logit, sigmoid
from donkey_aicc.errors import AiccError

W_MAX = 20.0
STARTS = (0.0, 0.1, 1.0, 3.0)
VALIDATION_SHARE = 0.2


class HeatingProblem:
    """Samples with fixed base logits; each row is divided by exp(w . scores of the row)."""

    def __init__(self, base_logit: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> None:
        """base_logit: (N, K) logit(p) / T_k, labels: (N, K) with NaN unknown, scores: (N, S)."""
        known = ~np.isnan(labels)
        self._known = known
        self._signed = np.where(known, np.where(labels > 0.5, base_logit, -base_logit), 0.0)
        self._scores = scores
        self.samples = int(known.sum())
        if not self.samples:
            raise AiccError("no labelled sample to fit anomaly weights on")

    def nll(self, weights: np.ndarray) -> float:
        """Mean negative log-likelihood in nats."""
        margin = self._signed * np.exp(-(self._scores @ weights))[:, None]
        return float(np.logaddexp(0.0, -margin)[self._known].sum() / self.samples)

    def nll_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The same with its derivative by the weights, (S,)."""
        margin = self._signed * np.exp(-(self._scores @ weights))[:, None]
        small = np.exp(-np.abs(margin))  # shared by softplus and sigmoid
        loss = np.maximum(-margin, 0.0) + np.log1p(small)
        slope = np.where(margin >= 0, small, 1.0) / (1.0 + small) * margin  # sigmoid(-margin) * margin; 0 where unknown
        return float(loss[self._known].sum() / self.samples), slope.sum(axis=1) @ self._scores / self.samples


def base_logits(p: np.ndarray, horizons: np.ndarray, temperatures: dict[int, float]) -> np.ndarray:
    """(N, K) logit(p) / T_k."""
    return logit(p) / np.array([temperatures[int(horizon)] for horizon in horizons])


Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


def minimise_weights(objective: Objective, start: np.ndarray, upper: float = W_MAX) -> np.ndarray:
    """L-BFGS-B with 0 <= w <= upper from one start."""
    from scipy.optimize import minimize  # only fits need it: the car loads no scipy

    if not len(start):
        return start
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0.0, upper)] * len(start))
    return np.clip(found.x, 0.0, upper)


def fit_weights(
    train: HeatingProblem, validation: HeatingProblem, whole: HeatingProblem, count: int, starts: Sequence[float] = STARTS
) -> np.ndarray:
    """Fit from several starts on `train`; from the one with the least NLL on `validation`, fit again on `whole`.

    The validation share only chooses the start: weights that never saw it would depend on which drives are in it.
    """
    fits = [minimise_weights(train.nll_and_gradient, np.full(count, start)) for start in starts]
    return minimise_weights(whole.nll_and_gradient, min(fits, key=validation.nll))


def validation_rows(sequence: np.ndarray, seed: int, share: float = VALIDATION_SHARE) -> np.ndarray:
    """(N,) bool: rows of a random share of whole sequences; neither side is ever empty."""
    names = np.unique(sequence)
    if len(names) < 2:
        raise AiccError(f"a validation share needs at least 2 sequences, got {len(names)}")
    count = min(max(1, round(share * len(names))), len(names) - 1)
    return np.isin(sequence, np.random.default_rng(seed).choice(names, size=count, replace=False))


def confidence_of(p: np.ndarray, temperature: float, heat: np.ndarray) -> np.ndarray:
    """sigmoid(logit(p) / (T_k exp(heat)))."""
    return sigmoid(logit(p) / (temperature * np.exp(heat)))


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
