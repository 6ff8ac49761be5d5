"""Numbers out of a stored table, each with its kind and range: a stranger's file can hold the right keys and mean the opposite.

Everything here raises AiccError with the name, the rule and the value.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError


def number(name: str, value: Any, low: float, high: float) -> float:
    """A finite number in low..high. True, texts and lists are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise AiccError(f"{name} must be a number in {low:g}..{high:g}, got {value!r}")
    return float(value)


def whole(name: str, value: Any, low: int, high: int) -> int:
    """A whole number in low..high."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise AiccError(f"{name} must be a whole number in {low}..{high}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """True or false; not a text that says so."""
    if not isinstance(value, bool):
        raise AiccError(f"{name} must be true or false, got {value!r}")
    return value


def array(name: str, stored: Any, low: float, high: float, most: int = 100_000) -> np.ndarray:
    """A list of finite numbers in low..high, at most so many."""
    if not isinstance(stored, list) or len(stored) > most:
        raise AiccError(f"{name} must be a list of at most {most} numbers")
    return np.array([number(f"{name}[{place}]", value, low, high) for place, value in enumerate(stored)], dtype=np.float64)


def rising(name: str, values: np.ndarray) -> np.ndarray:
    """Values that never fall."""
    if (np.diff(values) < 0.0).any():
        raise AiccError(f"{name} must never fall, it falls by {-np.diff(values).min():.3g}")
    return values


def by_horizon(name: str, stored: Any) -> dict[int, Any]:
    """A table whose keys are frame counts, written as plain digits: `10`, not ` 10`, `1_0` or `+10`."""
    if not isinstance(stored, Mapping) or not stored:
        raise AiccError(f"{name} must be a table of horizons, got {stored!r}")
    found = {}
    for key, value in stored.items():
        if not (isinstance(key, str) and key.isascii() and key.isdigit() and str(int(key)) == key):
            raise AiccError(f"{name}: a horizon must be a frame count in plain digits, got {key!r}")
        found[int(key)] = value
    return found
