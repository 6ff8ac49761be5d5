"""One number from many horizons: the trapezoid mean over k = 5..50 (paper, Section V-B)."""

from collections.abc import Callable

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import Measured

FIRST_HORIZON, LAST_HORIZON = 5, 50
Metric = Callable[[np.ndarray, np.ndarray], Measured]


def per_horizon(metric: Metric, p: np.ndarray, labels: np.ndarray) -> list[Measured]:
    """The metric of every column; p, labels: (N, K)."""
    return [metric(p[:, column], labels[:, column]) for column in range(p.shape[1])]


def horizon_average(
    values: list[Measured], horizons: np.ndarray, first: int = FIRST_HORIZON, last: int = LAST_HORIZON
) -> Measured:
    """Trapezoid rule over the horizons from first to last, divided by the range; one undefined horizon undefines it."""
    if len(values) != len(horizons):
        raise AiccError(f"one value per horizon is needed, got {len(values)} values for {len(horizons)} horizons")
    used = [(int(k), value) for k, value in zip(horizons, values, strict=True) if first <= k <= last]
    if not used:
        raise AiccError(f"no horizon between {first} and {last} among {np.asarray(horizons).tolist()}")
    for horizon, value in used:
        if np.isnan(value.value):
            return Measured(float("nan"), f"horizon {horizon}: {value.reason}")
    k = np.array([horizon for horizon, _ in used], dtype=np.float64)
    numbers = np.array([value.value for _, value in used])
    if len(k) == 1:
        return Measured(float(numbers[0]))
    return Measured(float(((numbers[1:] + numbers[:-1]) / 2.0 * np.diff(k)).sum() / (k[-1] - k[0])))
