"""One number from many horizons: the trapezoid mean over k = 5..50 (paper, Section V-B)."""

from collections.abc import Callable

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import Measured, bin_sums, ece_of_sums

FIRST_HORIZON, LAST_HORIZON = 5, 50
Metric = Callable[[np.ndarray, np.ndarray], Measured]


def per_horizon(metric: Metric, p: np.ndarray, labels: np.ndarray) -> list[Measured]:
    """The metric of every column; p, labels: (N, K)."""
    return [metric(p[:, column], labels[:, column]) for column in range(p.shape[1])]


def horizon_average(values: list[Measured], horizons: np.ndarray) -> Measured:
    """Trapezoid rule over the horizons, divided by the range; one undefined horizon undefines it."""
    if len(values) != len(horizons):
        raise AiccError(f"one value per horizon is needed, got {len(values)} values for {len(horizons)} horizons")
    used = [(int(k), value) for k, value in zip(horizons, values, strict=True) if FIRST_HORIZON <= k <= LAST_HORIZON]
    if not used:
        raise AiccError(f"no horizon between {FIRST_HORIZON} and {LAST_HORIZON} among {np.asarray(horizons).tolist()}")
    for horizon, value in used:
        if np.isnan(value.value):
            return Measured(float("nan"), f"horizon {horizon}: {value.reason}")
    return Measured(float(horizon_mean(np.array([value.value for value in values]), np.asarray(horizons))))


def horizon_weights(horizons: np.ndarray) -> np.ndarray:
    """(K,) weights of the trapezoid mean over k = 5..50; they add up to 1."""
    used = np.flatnonzero((horizons >= FIRST_HORIZON) & (horizons <= LAST_HORIZON))
    k = horizons[used].astype(np.float64)
    weights = np.zeros(len(horizons))
    if len(used) == 1:
        weights[used] = 1.0
        return weights
    steps = np.diff(k) / (k[-1] - k[0])
    weights[used[:-1]] += steps / 2.0
    weights[used[1:]] += steps / 2.0
    return weights


def horizon_mean(values: np.ndarray, horizons: np.ndarray) -> np.ndarray:
    """(..., K) -> (...); a horizon outside 5..50 does not count, even if it is NaN."""
    weights = horizon_weights(horizons)
    return (np.where(weights > 0, values, 0.0) * weights).sum(axis=-1)


def mean_ece(confidence: np.ndarray, labels: np.ndarray, horizons: np.ndarray) -> float:
    """Horizon-averaged top-label ECE of one table."""
    return float(horizon_mean(ece_of_sums(bin_sums(confidence, labels)[0]), horizons))
