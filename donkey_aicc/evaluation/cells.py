"""Numbers on their way into results.json: six significant digits, and never NaN but null with a reason."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from donkey_aicc.evaluation.metrics import Measured

LEVEL = 0.95  # of every interval
Cell = dict[str, Any]  # {"value": x} or {"value": null, "reason": why}; spreads add mean, std and values


def rounded(value: float) -> float | None:
    """Six significant digits; None for what is not finite."""
    number = float(value)
    return float(f"{number:.6g}") if np.isfinite(number) else None


def rounded_list(values: Sequence[float] | np.ndarray) -> list[float | None]:
    return [rounded(value) for value in values]


def cell(measured: Measured) -> Cell:
    """One measured number."""
    value = rounded(measured.value)
    return {"value": value} if value is not None else {"value": None, "reason": measured.reason or "undefined"}


def spread_cell(measured: Sequence[Measured]) -> Cell:
    """Mean, standard deviation (n - 1) and values over the splits; one undefined split undefines the mean."""
    for number, one in enumerate(measured):
        if not np.isfinite(one.value):
            reason = f"split {number + 1}: {one.reason or 'undefined'}"
            return {"mean": None, "std": None, "values": [rounded(each.value) for each in measured], "reason": reason}
    values = np.array([one.value for one in measured])
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {"mean": rounded(values.mean()), "std": rounded(std), "values": rounded_list(values)}


def mean_of(measured: Sequence[Measured], names: Sequence[str]) -> Measured:
    """Plain mean over protocols; one undefined protocol undefines it and is named, unless all have the same reason."""
    reasons = {one.reason for one in measured if not np.isfinite(one.value)}
    if measured and len(reasons) == 1 and not any(np.isfinite(one.value) for one in measured):
        return Measured(float("nan"), reasons.pop() or "undefined")
    for one, name in zip(measured, names, strict=True):
        if not np.isfinite(one.value):
            return Measured(float("nan"), f"{name}: {one.reason or 'undefined'}")
    if not measured:
        return Measured(float("nan"), "no protocol")
    return Measured(float(np.mean([one.value for one in measured])))


def number_of(stored: Cell | None) -> float | None:
    """The number a cell holds, whichever kind it is."""
    if stored is None:
        return None
    return stored["mean"] if "mean" in stored else stored["value"]


def interval_cell(values: np.ndarray, sequences: int) -> dict[str, object]:
    """Bounds of the percentile interval, or null with the reason."""
    defined = values[np.isfinite(values)]
    if sequences < 2:
        return {"low": None, "high": None, "reason": f"{sequences} sequence cannot be resampled"}
    if not len(defined):
        return {"low": None, "high": None, "reason": "undefined in every resample"}
    low, high = np.quantile(defined, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return {"low": rounded(low), "high": rounded(high), "draws": len(defined)}
