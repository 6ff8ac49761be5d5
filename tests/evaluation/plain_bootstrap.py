"""The plain way to an interval, row by row: what the fast resampling of sums is held against."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


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
