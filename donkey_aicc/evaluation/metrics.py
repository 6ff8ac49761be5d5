"""Calibration and ranking metrics, each named after its definition (paper, appendix on metrics; docs/metrics.md).

p is the probability of safe, y is 1 safe, 0 unsafe, NaN unknown (not counted). A metric that has no value says why. One number
from many horizons is the trapezoid mean over k = 5..50 (paper, Section V-B).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from donkey_aicc.calibration.base import checked_probability, mean_nll
from donkey_aicc.errors import AiccError

BINS = 15
FIRST_BIN = BINS // 2  # holds 0.5
KEPT = BINS - FIRST_BIN  # a top-label confidence is at least 0.5, so only the upper half of the bins is kept


@dataclass(frozen=True)
class Measured:
    """A number, or NaN with the reason why there is none."""

    value: float
    reason: str = ""

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class ReliabilityCurve:
    """Equal-width bins; NaN in bins without samples."""

    edges: np.ndarray  # (B + 1,)
    count: np.ndarray  # (B,)
    confidence: np.ndarray  # (B,) mean predicted
    accuracy: np.ndarray  # (B,) observed frequency

    def error(self) -> float:
        """Gap between observed and predicted, weighted by count."""
        filled = self.count > 0
        gap = np.abs(self.accuracy[filled] - self.confidence[filled])
        return float((gap * self.count[filled]).sum() / self.count.sum())


def ece_top_label(p: np.ndarray, y: np.ndarray) -> Measured:
    """Expected calibration error of the predicted class in 15 bins: confidence max(p, 1-p), accuracy = prediction right."""
    p, y = as_samples(p, y)
    return Measured(float(ece_of_sums(bin_sums(p[:, None], y[:, None]))[0, 0])) if len(p) else _EMPTY


def ece_binary(p: np.ndarray, y: np.ndarray, bins: int = BINS) -> Measured:
    """The same on the probability of safe and the frequency of safe."""
    p, y = as_samples(p, y)
    return Measured(reliability_curve(p, y, bins).error()) if len(p) else _EMPTY


def sce(p: np.ndarray, y: np.ndarray, bins: int = BINS) -> Measured:
    """Static calibration error: ECE of P(class) for each of the two classes, averaged."""
    p, y = as_samples(p, y)
    if not len(p):
        return _EMPTY
    return Measured((reliability_curve(p, y, bins).error() + reliability_curve(1.0 - p, 1.0 - y, bins).error()) / 2.0)


def ace(p: np.ndarray, y: np.ndarray, bins: int = BINS) -> Measured:
    """Adaptive calibration error: top label, bins of equal count, plain mean of the gaps.

    Samples of equal confidence share their mean accuracy, so the result does not depend on the order of rows.
    """
    p, y = as_samples(p, y)
    if len(p) < bins:
        return Measured(float("nan"), f"{len(p)} labelled samples cannot fill {bins} bins")
    confidence, right = top_label(p, y)
    order = np.argsort(confidence, kind="stable")
    confidence, right = confidence[order], mean_over_ties(confidence[order], right[order])
    parts = zip(np.array_split(confidence, bins), np.array_split(right, bins), strict=True)
    return Measured(float(np.mean([abs(part_right.mean() - part.mean()) for part, part_right in parts])))


def brier(p: np.ndarray, y: np.ndarray) -> Measured:
    """Mean squared error of the probability of safe."""
    p, y = as_samples(p, y)
    return Measured(float(((p - y) ** 2).mean())) if len(p) else _EMPTY


def nll(p: np.ndarray, y: np.ndarray) -> Measured:
    """Mean negative log-likelihood in nats, p clipped to [1e-6, 1 - 1e-6]."""
    p, y = as_samples(p, y)
    return Measured(mean_nll(p, y)) if len(p) else _EMPTY


def accuracy(p: np.ndarray, y: np.ndarray) -> Measured:
    """Share of right predictions at threshold 0.5."""
    p, y = as_samples(p, y)
    return Measured(float(top_label(p, y)[1].mean())) if len(p) else _EMPTY


def auroc(score: np.ndarray, y: np.ndarray) -> Measured:
    """Probability that a random positive scores above a random negative (ties count half); any finite score."""
    score, y = np.asarray(score, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = ~np.isnan(y)
    score, y = score[known], y[known]
    if not np.isfinite(score).all():
        return Measured(float("nan"), f"{int((~np.isfinite(score)).sum())} of {len(score)} scores are unknown")
    positives = int((y > 0.5).sum())
    negatives = len(y) - positives
    if not positives or not negatives:
        return Measured(float("nan"), f"one class only: {positives} positive, {negatives} negative samples")
    ranks = rankdata(score)[y > 0.5].sum()
    return Measured(float((ranks - positives * (positives + 1) / 2.0) / (positives * negatives)))


def aurc(p: np.ndarray, y: np.ndarray) -> Measured:
    """Area under the risk-coverage curve: mean error rate of the most confident share, over all shares."""
    p, y = as_samples(p, y)
    if not len(p):
        return _EMPTY
    confidence, right = top_label(p, y)
    order = np.argsort(-confidence, kind="stable")
    wrong = 1.0 - mean_over_ties(confidence[order], right[order])
    return Measured(float((np.cumsum(wrong) / np.arange(1, len(wrong) + 1)).mean()))


def reliability_curve(confidence: np.ndarray, outcome: np.ndarray, bins: int = BINS) -> ReliabilityCurve:
    """Mean confidence and outcome per equal-width bin of [0, 1]; bins are closed on the left, the last on both sides."""
    index = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    count = np.bincount(index, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean_confidence = np.bincount(index, weights=confidence, minlength=bins) / count
        mean_outcome = np.bincount(index, weights=outcome, minlength=bins) / count
    return ReliabilityCurve(np.linspace(0.0, 1.0, bins + 1), count, mean_confidence, mean_outcome)


_EMPTY = Measured(float("nan"), "no labelled samples")


def as_samples(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labelled samples as flat float64 arrays; p and y of one shape."""
    p, y = np.asarray(p, dtype=np.float64).ravel(), np.asarray(y, dtype=np.float64).ravel()
    if p.shape != y.shape:
        raise AiccError(f"p and y must have one shape, got {p.shape} and {y.shape}")
    known = ~np.isnan(y)
    return checked_probability(p[known]), y[known]


def top_label(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(p, 1.0 - p), ((p >= 0.5) == (y > 0.5)).astype(np.float64)


def mean_over_ties(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """values averaged over runs of equal `ordered`."""
    run = np.concatenate([[0], np.cumsum(np.diff(ordered) != 0)])
    return (np.bincount(run, weights=values) / np.bincount(run))[run]


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
