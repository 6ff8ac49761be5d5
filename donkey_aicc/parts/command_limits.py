"""CommandLimits: the last of our parts before the drive train."""

import logging
from typing import Any

from donkey_aicc.limits import drive_command

logger = logging.getLogger(__name__)


class CommandLimits:
    """Donkeycar part: (steering, throttle) -> the same, finite and within [-1, 1]. In every car, with or without a monitor.

    A pilot of anybody's may give NaN or infinity, and donkeycar hands on whatever it gets. Counts what it had to change.
    """

    def __init__(self) -> None:
        self.changed = 0

    def run(self, steering: Any, throttle: Any) -> tuple[float, float]:
        sent = drive_command(steering), drive_command(throttle)
        given = (0.0 if steering is None else steering, 0.0 if throttle is None else throttle)  # None: nobody steers yet
        if not _same(sent, given):
            self.changed += 1
            if self.changed == 1:  # the same is often true of every tick that follows
                logger.error(f"a command must be finite and within [-1, 1], got {str(given)[:80]}; sent {sent}")
        return sent

    def shutdown(self) -> None:
        if self.changed:
            logger.warning(f"{self.changed} commands were not finite or not within [-1, 1] and were changed")


def _same(sent: tuple[float, float], given: tuple[Any, Any]) -> bool:
    try:
        return bool(sent[0] == given[0]) and bool(sent[1] == given[1])
    except Exception:  # an array, or worse
        return False
