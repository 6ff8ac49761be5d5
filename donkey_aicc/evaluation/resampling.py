"""Uncertainty of results: bootstrap over whole sequences, seeded calibration splits, the Wilcoxon test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import Measured


@dataclass(frozen=True)
class Interval:
    """A value with the bounds of its bootstrap interval."""

    value: float
    low: float
    high: float
    draws: int  # resamples in which the statistic was defined
    reason: str = ""


def bootstrap_interval(
    sequence: np.ndarray, statistic: Callable[[np.ndarray], float], seed: int, draws: int = 1000, level: float = 0.95
) -> Interval:
    """Percentile interval of statistic(row indices), sequences being drawn with replacement; sequence: (N,) ids.

    Frames of a sequence resemble each other, so single frames must not be drawn.
    """
    if not 0.0 < level < 1.0 or draws < 1:
        raise AiccError(f"level must lie in (0, 1) and draws be >= 1, got {level} and {draws}")
    names, inverse = np.unique(sequence, return_inverse=True)
    value = float(statistic(np.arange(len(sequence)))) if len(sequence) else float("nan")
    if len(names) < 2:
        return Interval(value, float("nan"), float("nan"), 0, f"{len(names)} sequences cannot be resampled")
    rows = [np.flatnonzero(inverse == number) for number in range(len(names))]
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        drawn = rng.integers(0, len(names), size=len(names))
        found.append(float(statistic(np.concatenate([rows[number] for number in drawn]))))
    defined = np.array([number for number in found if not np.isnan(number)])
    if not len(defined):
        return Interval(value, float("nan"), float("nan"), 0, "the statistic was undefined in every resample")
    low, high = np.quantile(defined, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(value, float(low), float(high), len(defined))


def calibration_splits(sequences: Sequence[str], seed: int, splits: int = 5, share: float = 0.8) -> list[list[str]]:
    """Seeded random subsets of whole calibration sequences, each holding the given share of them (at least 3, if there are)."""
    names = sorted(set(sequences))
    if len(names) < 2:
        raise AiccError(f"calibration splits need at least 2 sequences, got {len(names)}")
    size = max(min(3, len(names)), round(share * len(names)))
    rng = np.random.default_rng(seed)
    return [sorted(rng.choice(names, size=size, replace=False).tolist()) for _ in range(splits)]


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> Measured:
    """Two-sided p-value of the signed-rank test on paired values."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise AiccError(f"the Wilcoxon test needs pairs, got {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 2:
        return Measured(float("nan"), f"{int(both.sum())} defined pairs are too few")
    if np.array_equal(a[both], b[both]):
        return Measured(float("nan"), "all pairs are equal")
    return Measured(float(stats.wilcoxon(a[both], b[both]).pvalue))
