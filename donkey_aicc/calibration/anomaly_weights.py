"""How much an anomaly score shall count: the NLL of T_eff = T_k exp(w . s) as a function of w >= 0, and its minimiser."""

from collections.abc import Callable, Sequence

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
