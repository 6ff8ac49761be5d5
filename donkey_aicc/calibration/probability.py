"""Probabilities and logits, with the clipping and the checks that every calibrator shares."""

import numpy as np

from donkey_aicc.errors import AiccError

P_MIN = 1e-6


def checked_probability(p: np.ndarray, name: str = "p") -> np.ndarray:
    """p as float64; anything that is not a finite number in [0, 1] is refused."""
    values = np.asarray(p, dtype=np.float64)
    if not np.isfinite(values).all():
        raise AiccError(f"{name} must be finite, got {int((~np.isfinite(values)).sum())} non-finite of {values.size} values")
    if values.size and (values.min() < 0.0 or values.max() > 1.0):
        raise AiccError(f"{name} must lie in [0, 1], got {values.min():.6g} to {values.max():.6g}")
    return values


def clip_probability(p: np.ndarray) -> np.ndarray:
    """p inside [1e-6, 1 - 1e-6], so that its logit is finite."""
    return np.clip(p, P_MIN, 1.0 - P_MIN)


def logit(p: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) of the clipped probability."""
    clipped = clip_probability(checked_probability(p))
    return np.log(clipped) - np.log1p(-clipped)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def mean_nll(p: np.ndarray, y: np.ndarray) -> float:
    """Mean negative log-likelihood (nats) of 0/1 labels; rows with a NaN label do not count."""
    known = ~np.isnan(y)
    clipped = clip_probability(np.asarray(p)[known])
    return float(-np.mean(np.where(y[known] > 0.5, np.log(clipped), np.log1p(-clipped))))


def non_negative(name: str, weight: float) -> float:
    """A stored weight of an anomaly score: anomalies make confidence more careful, never less."""
    value = float(weight)
    if not (np.isfinite(value) and value >= 0.0):
        raise AiccError(f"the weight of {name} must be a number >= 0, got {value:g}")
    return value
