"""The alarm's promise: how often it may be wrong, from whole nominal drives by split conformal prediction.

The drives are the exchangeable units: with n of them, the chance that the next nominal drive goes beyond the k-th smallest of
their largest scores is at most 1 - k / (n + 1), whatever the scores are. Nothing better than 1 / (n + 1) can be promised.
"""

import math
from dataclasses import dataclass

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError

STEP = 0.5  # of the logarithm of a threshold, per false alarm that the driver reports


@dataclass(frozen=True)
class Threshold:
    """A score above `value` is an alarm; a nominal drive has one with a chance of at most `promise`."""

    value: float
    promise: float
    drives: int

    def statement(self) -> str:
        """The promise in words, with what it rests on."""
        return f"at most 1 false alarm in {1.0 / self.promise:.3g} nominal drives (from {self.drives} drives)"


def conformal_threshold(largest: np.ndarray, alpha: float) -> Threshold:
    """largest: (n,) of each nominal drive's scores; alpha: wanted chance of a false alarm per drive.

    Fewer drives than the wish needs: the largest value of all, and the promise 1 / (n + 1) that it allows.
    """
    if not 0.0 < alpha < 1.0:
        raise ConfigError(f"the chance of a false alarm must be within (0, 1), got {alpha}")
    values = np.sort(np.asarray(largest, dtype=np.float64))
    count = len(values)
    if not count or not np.isfinite(values).all():
        raise AiccError(f"the alarm needs at least one nominal drive with finite scores, got {count}")
    rank = min(math.ceil((count + 1) * (1.0 - alpha) - 1e-9), count)
    return Threshold(float(values[rank - 1]), 1.0 - rank / (count + 1), count)


def smallest_promise(drives: int) -> str:
    """For example `with 12 drives the smallest promise is 1 in 13`."""
    return f"with {drives} drive{'s' * (drives != 1)} the smallest promise is 1 in {drives + 1}"


class AdaptiveThreshold:
    """Holds the rate of false alarms when nominal driving changes, from the driver's word alone (adaptive conformal).

    Every reported false alarm raises the threshold, every drive (or stretch as long as one) without lowers it a little, so that
    the two balance at the promised rate: after T stretches the share of those with a false alarm is at most
    promise + (ln(needed / fitted) + STEP) / (STEP T), with `needed` the threshold that no nominal score passes any more. It never
    goes below the fitted threshold: the driver can make the alarm calmer, not more nervous than it was promised to be.
    """

    def __init__(self, fitted: Threshold) -> None:
        self._fitted, self._raised = fitted, 0.0

    @property
    def value(self) -> float:
        return self._fitted.value * math.exp(self._raised)

    def false_alarm(self) -> None:
        """The driver says that there was nothing."""
        self._raised += STEP * (1.0 - self._fitted.promise)

    def quiet(self) -> None:
        """A stretch as long as a drive has passed without such a report."""
        self._raised = max(0.0, self._raised - STEP * self._fitted.promise)
