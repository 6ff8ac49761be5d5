"""Calibration errors of many horizons and resamples at once, from sums per bin.

The top-label confidence of a two-class prediction is at least 0.5, so only the upper bins of `metrics.BINS` are kept.
`ece_of_sums` equals `metrics.ece_top_label` (tested).
"""

import numpy as np

from donkey_aicc.evaluation.horizons import FIRST_HORIZON, LAST_HORIZON
from donkey_aicc.evaluation.metrics import BINS

FIRST_BIN = BINS // 2  # holds 0.5
KEPT = BINS - FIRST_BIN


def bin_sums(confidence: np.ndarray, labels: np.ndarray, group: np.ndarray | None = None, groups: int = 1) -> np.ndarray:
    """(groups, K, KEPT, 3): count, summed confidence and summed hits of each bin.

    confidence, labels: (N, K), NaN label = unknown; group: (N,) int, for instance the number of the sequence.
    """
    horizons = confidence.shape[1]
    known = ~np.isnan(labels)
    top = np.maximum(confidence, 1.0 - confidence)
    right = (confidence >= 0.5) == (labels > 0.5)
    bins = np.minimum((top * BINS).astype(np.int64), BINS - 1) - FIRST_BIN
    owner = np.zeros(len(confidence), dtype=np.int64) if group is None else group
    place = (((owner[:, None] * horizons) + np.arange(horizons)) * KEPT + bins)[known]
    size = groups * horizons * KEPT
    sums = [
        np.bincount(place, minlength=size),
        np.bincount(place, weights=top[known], minlength=size),
        np.bincount(place, weights=right[known].astype(np.float64), minlength=size),
    ]
    return np.stack(sums, axis=-1).reshape(groups, horizons, KEPT, 3).astype(np.float64)


def ece_of_sums(sums: np.ndarray) -> np.ndarray:
    """(..., K, KEPT, 3) -> (..., K) top-label ECE, NaN without samples."""
    count = sums[..., 0].sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(sums[..., 1] - sums[..., 2]).sum(axis=-1) / count


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
