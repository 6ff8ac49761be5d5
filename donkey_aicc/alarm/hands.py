"""Who holds the wheel: what a person's steering looks like is no sign of anything."""

import numpy as np

from donkey_aicc.alarm.response import RESPONSE_SIGNS
from donkey_aicc.alarm.signs import SIGN_NAMES
from donkey_aicc.alarm.timing import WINDOW_S, frames_in

STEERED = [SIGN_NAMES.index(name) for name in ("jerk", *RESPONSE_SIGNS, "control", "own")]
HANDOVER_S = 2 * WINDOW_S  # after a change of hands the windows still hold the other's commands


class Hands:
    """Whose commands the signs judge: how a person steers is no fault, nor is the change from one to the other."""

    def __init__(self, rate_hz: float) -> None:
        self._handover = frames_in(HANDOVER_S, rate_hz)
        self._mode: str | None = None
        self._left = 0

    def are_the_pilots(self, mode: str | None) -> bool:
        """Once per tick. mode: donkeycar's, None or '' where it is not known, which counts as the pilot's."""
        now = mode if isinstance(mode, str) else ""
        if self._mode is not None and now != self._mode:
            self._left = self._handover + 1
        self._mode, self._left = now, max(0, self._left - 1)
        return now != "user" and self._left == 0


def without_steering(signs: np.ndarray) -> np.ndarray:
    """(S,) with what says something about the steering unknown."""
    found = np.array(signs, dtype=np.float64)
    found[STEERED] = np.nan
    return found
