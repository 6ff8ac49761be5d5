"""Calibration errors of many horizons and resamples at once, from sums per bin.

The top-label confidence of a two-class prediction is at least 0.5, so only the upper half of the bins is kept.
"""

import numpy as np

BINS = 15
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
