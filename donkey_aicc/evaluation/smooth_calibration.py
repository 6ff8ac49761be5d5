"""Calibration errors that do not hang on where bins begin, and what of a score is lack of calibration.

Smooth ECE (Blasiok and Nakkiran, "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", ICLR 2024): the residuals
(right - confidence) are smoothed along the confidence with a reflected Gaussian kernel of width s; the error is the area under
their absolute value at the one width that equals the error itself. Parts of a score (Dimitriadis, Gneiting and Jordan, "Stable
reliability diagrams for probabilistic classifiers", PNAS 2021): refinement is the mean score of the forecasts after the best
monotone recalibration, calibration is what that saves. AUGRC (Traub et al., NeurIPS 2024): as AURC, but over all frames and not
over the accepted ones, so that a few confident errors do not rule the number.
"""

from functools import cache

import numpy as np

from donkey_aicc.calibration.base import P_MIN
from donkey_aicc.evaluation.metrics import Measured, as_samples, mean_over_ties, top_label

POINTS = 101  # of the grid from 0.5 to 1 on which residuals are summed
_LOW, _HIGH = 0.5, 1.0  # a top-label confidence is at least one half
_WIDTHS = np.geomspace(0.004, 0.5, 32)


def residual_sums(confidence: np.ndarray, labels: np.ndarray, group: np.ndarray | None = None, groups: int = 1) -> np.ndarray:
    """(groups, K, POINTS + 1): residuals of the predicted class summed per grid point, and in the last place their count.

    confidence, labels: (N, K), NaN label = unknown; group: (N,) int, for instance the number of the drive. A sample between
    two grid points is shared by them.
    """
    horizons, known = confidence.shape[1], ~np.isnan(labels)
    sure, right = top_label(confidence, labels)
    place = (sure - _LOW) / (_HIGH - _LOW) * (POINTS - 1)
    low = np.minimum(place.astype(np.int64), POINTS - 2)
    upper = place - low
    owner = np.zeros(len(confidence), dtype=np.int64) if group is None else group
    first = ((owner[:, None] * horizons) + np.arange(horizons)) * (POINTS + 1)
    size = groups * horizons * (POINTS + 1)
    residual = right - sure
    sums = np.bincount((first + low)[known], weights=(residual * (1.0 - upper))[known], minlength=size)
    sums += np.bincount((first + low + 1)[known], weights=(residual * upper)[known], minlength=size)
    sums += np.bincount((first + POINTS)[known], minlength=size)
    return sums.reshape(groups, horizons, POINTS + 1)


def smooth_ece_of_sums(sums: np.ndarray) -> np.ndarray:
    """(..., POINTS + 1) -> (...) smooth ECE, NaN without samples."""
    count = sums[..., POINTS]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums[..., :POINTS] / count[..., None]
    errors = np.stack([np.abs(mean @ kernel).sum(axis=-1) for kernel in _kernels()], axis=-1)  # falls as the kernel widens
    above = (errors >= _WIDTHS).sum(axis=-1)  # the curves cross behind so many widths
    low, high = np.clip(above - 1, 0, None), np.clip(above, None, len(_WIDTHS) - 1)
    gaps = [np.take_along_axis(errors, at[..., None], axis=-1)[..., 0] - _WIDTHS[at] for at in (low, high)]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(high > low, gaps[0] / (gaps[0] - gaps[1]), 0.0)
    crossing = _WIDTHS[low] + share * (_WIDTHS[high] - _WIDTHS[low])
    # Even the narrowest kernel is wider than the error: then the error itself is the answer.
    found = np.where(above == 0, errors[..., 0], crossing)
    return np.where(count > 0, found, np.nan)


def smooth_ece(p: np.ndarray, y: np.ndarray) -> Measured:
    """Of the predicted class, like the binned one."""
    p, y = as_samples(p, y)
    return Measured(float(smooth_ece_of_sums(residual_sums(p[:, None], y[:, None]))[0, 0])) if len(p) else _EMPTY


@cache
def _kernels() -> np.ndarray:
    """(widths, POINTS, POINTS): each row spreads a unit over the grid; what would leave it is reflected at its ends."""
    grid = np.linspace(_LOW, _HIGH, POINTS)
    found = np.zeros((len(_WIDTHS), POINTS, POINTS))
    for turn in range(-2, 3):
        for mirrored in (2 * turn * (_HIGH - _LOW) + grid, 2 * turn * (_HIGH - _LOW) + 2 * _LOW - grid):
            found += np.exp(-0.5 * ((mirrored[None, None, :] - grid[None, :, None]) / _WIDTHS[:, None, None]) ** 2)
    return found / found.sum(axis=2, keepdims=True)


def augrc(p: np.ndarray, y: np.ndarray) -> Measured:
    """Mean over all shares of accepted frames of the share of frames that are accepted and wrong."""
    p, y = as_samples(p, y)
    if not len(p):
        return _EMPTY
    confidence, right = top_label(p, y)
    order = np.argsort(-confidence, kind="stable")
    wrong = 1.0 - mean_over_ties(confidence[order], right[order])
    return Measured(float((np.cumsum(wrong) / len(wrong)).mean()))


def _brier(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (p - y) ** 2


def _log_loss(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    given = np.where(y > 0.5, p, 1.0 - p)
    return -np.log(np.clip(given, P_MIN, 1.0))


def _recalibrated(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    from sklearn.isotonic import IsotonicRegression

    return np.asarray(IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(p), dtype=np.float64)


PARTS = ("brier_calibration", "brier_refinement", "nll_calibration", "nll_refinement")


def score_parts(p: np.ndarray, y: np.ndarray) -> dict[str, Measured]:
    """What the best monotone recalibration would take off the Brier score and the NLL, and what it would leave."""
    p, y = as_samples(p, y)
    if not len(p):
        return dict.fromkeys(PARTS, _EMPTY)
    best = _recalibrated(p, y)
    found = {}
    for name, loss in (("brier", _brier), ("nll", _log_loss)):
        left = float(loss(best, y).mean())
        found[f"{name}_calibration"] = Measured(max(0.0, float(loss(p, y).mean()) - left))
        found[f"{name}_refinement"] = Measured(left)
    return found


_EMPTY = Measured(float("nan"), "no labelled samples")
