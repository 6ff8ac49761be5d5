"""What may be sent to a drive train: finite, within [-1, 1], whatever a pilot, a page or a fault made of it."""

import math
from typing import Any

MAX_GAP_S = 0.5  # a longer pause between two frames cuts the drive, on the car, in a tub and in a replay

# What a push back does: reverse at once; brake out of forward and reverse out of neutral; brake, and reverse when pushed again.
DIRECT, NEUTRAL_FIRST, DOUBLE_TAP = ESC_KINDS = ("direct", "neutral_first", "double_tap")


def drive_command(value: Any, most: float = 1.0) -> float:
    """Within [-1, most]. What is no finite number (None, NaN, 10**400, a text) becomes 0, the command that does nothing."""
    if isinstance(value, bool | str | bytes):
        return 0.0
    try:
        number = float(value)
    except Exception:  # whatever it is, it must not end the drive
        return 0.0
    return min(max(number, -1.0), most) if math.isfinite(number) else 0.0
