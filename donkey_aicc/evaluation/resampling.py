"""Uncertainty of results: seeded calibration splits, and the Wilcoxon test."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import Measured


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
