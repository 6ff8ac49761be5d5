"""How much an anomaly score shall count: the NLL of T_eff = T_k exp(w . s) as a function of w >= 0, and its minimiser."""

from collections.abc import Callable, Sequence

import numpy as np

from donkey_aicc.calibration.base import logit, sigmoid
from donkey_aicc.errors import AiccError

W_MAX = 20.0
STARTS = (0.0, 0.1, 1.0, 3.0)
VALIDATION_SHARE = 0.2


class HeatingProblem:
    """Samples with fixed base logits; each row is divided by exp(w . scores of the row), then lowered by v . shifts of the row.

    The parameters are w and v in one vector; without shifts only w.
    """

    def __init__(self, base_logit: np.ndarray, labels: np.ndarray, scores: np.ndarray, shifts: np.ndarray | None = None) -> None:
        """base_logit: (N, K) logit(p) / T_k, labels: (N, K) with NaN unknown, scores: (N, S), shifts: (N, B)."""
        self._known = ~np.isnan(labels)
        self._sign = np.where(self._known, np.where(labels > 0.5, 1.0, -1.0), 0.0)
        self._logit = base_logit
        self._scores = scores
        self._shifts = np.zeros((len(scores), 0)) if shifts is None else shifts
        self.samples = int(self._known.sum())
        if not self.samples:
            raise AiccError("no labelled sample to fit anomaly weights on")

    def nll(self, weights: np.ndarray) -> float:
        """Mean negative log-likelihood in nats."""
        return float(np.logaddexp(0.0, -self._margin(weights)[0])[self._known].sum() / self.samples)

    def nll_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The same with its derivative by the weights, (S + B,)."""
        margin, heated = self._margin(weights)
        small = np.exp(-np.abs(margin))  # shared by softplus and sigmoid
        loss = np.maximum(-margin, 0.0) + np.log1p(small)
        slope = np.where(margin >= 0, small, 1.0) / (1.0 + small) * self._sign  # sigmoid(-margin), signed; 0 where unknown
        by_heat, by_shift = (slope * heated).sum(axis=1) @ self._scores, slope.sum(axis=1) @ self._shifts
        return float(loss[self._known].sum() / self.samples), np.concatenate([by_heat, by_shift]) / self.samples

    def _margin(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far each sample is on its right side, and the heated logits; both (N, K)."""
        count = self._scores.shape[1]
        heated = self._logit * np.exp(-(self._scores @ weights[:count]))[:, None]
        return self._sign * (heated - (self._shifts @ weights[count:])[:, None]), heated


def base_logits(p: np.ndarray, horizons: np.ndarray, temperatures: dict[int, float]) -> np.ndarray:
    """(N, K) logit(p) / T_k."""
    return logit(p) / np.array([temperatures[int(horizon)] for horizon in horizons])


Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


def minimise_weights(objective: Objective, start: np.ndarray, upper: float | np.ndarray = W_MAX) -> np.ndarray:
    """L-BFGS-B with 0 <= w <= upper from one start; upper: for all, or one for each."""
    from scipy.optimize import minimize  # only fits need it: the car loads no scipy

    if not len(start):
        return start
    most = np.broadcast_to(upper, start.shape)
    found = minimize(objective, np.minimum(start, most), jac=True, method="L-BFGS-B", bounds=[(0.0, each) for each in most])
    return np.clip(found.x, 0.0, most)


def fit_weights(
    train: HeatingProblem,
    validation: HeatingProblem,
    whole: HeatingProblem,
    upper: np.ndarray,
    starts: Sequence[float] = STARTS,
) -> np.ndarray:
    """Fit from several starts on `train`; from the one with the least NLL on `validation`, fit again on `whole`.

    The validation share only chooses the start: weights that never saw it would depend on which drives are in it.
    """
    fits = [minimise_weights(train.nll_and_gradient, np.full(len(upper), start), upper) for start in starts]
    return minimise_weights(whole.nll_and_gradient, min(fits, key=validation.nll), upper)


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
