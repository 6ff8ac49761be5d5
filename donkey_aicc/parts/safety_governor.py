"""SafetyGovernor: slows or stops the pilot's car while the alarm says so. CommandLimits: the last part before the drive train.

What the governor does, tick by tick, is decided in `alarm/governor_policy.py`.
"""

import logging
import math
from collections.abc import Sequence
from typing import Any

from donkey_aicc.alarm.alarm_model import NEAR_STEPS
from donkey_aicc.alarm.alarm_policy import WATCH
from donkey_aicc.alarm.governor_policy import IDLE, MODES, STOPPED, GovernorPolicy
from donkey_aicc.limits import drive_command

logger = logging.getLogger(__name__)

USER_MODES = ("user", "local_angle")  # who has the throttle: in local_angle the pilot only steers


class SafetyGovernor:
    """Donkeycar part before the drivetrain: (alarm, hazard, throttle, mode, health, frame, speed) -> (throttle, action).

    Reads, steps the policy, publishes. In modes in which the user has the throttle it does nothing ('off').
    frame: a `SeenFrame`; speed: m/s, None where nothing measures it.
    """

    modes = MODES

    def __init__(self, policy: GovernorPolicy, horizons: Sequence[int] = ()) -> None:
        self._policy = policy
        self._near = min(range(len(horizons)), key=lambda column: abs(horizons[column] - NEAR_STEPS), default=None)

    @property
    def mode(self) -> str:
        return self._policy.mode

    def set_mode(self, mode: str) -> None:
        """One of `modes`, from the cockpit or a button."""
        self._policy.set_mode(mode)

    def confirm(self) -> bool:
        """The driver lets a stopped car go on. False: nothing to confirm, or its evidence is still there."""
        return self._policy.confirm()

    def run(
        self,
        alarm: Any,
        hazard: Any,
        throttle: Any,
        mode: str | None = None,
        health: Any = None,
        frame: Any = None,
        speed: Any = None,
    ) -> tuple[float, str]:
        """Never raises; a throttle that is no number is 0. A health that is not known is not ok."""
        meant, by_user = drive_command(throttle), mode is None or (isinstance(mode, str) and mode in USER_MODES)
        try:
            level = alarm if isinstance(alarm, str) else WATCH
            return self._policy.step(
                level,
                self._near_hazard(hazard),
                meant,
                by_user,
                health=str(health),
                speed_mps=_finite(speed),
                still_s=None if frame is None else _finite(frame.time_s - frame.new_s),
            )
        except Exception:  # an exception here would stop the whole car, brakes and all
            logger.exception("the governor failed")
            return (meant, IDLE) if by_user or not self._policy.acts else (min(meant, 0.0), STOPPED)

    def _near_hazard(self, hazard: Any) -> float:
        """What is unknown, or no probability, counts as certain."""
        if self._near is None or not isinstance(hazard, list | tuple) or len(hazard) <= self._near:
            return 1.0
        value = hazard[self._near]
        return float(value) if isinstance(value, int | float) and 0.0 <= value <= 1.0 else 1.0

    def shutdown(self) -> None:
        """A stop of this drive does not go into the next, nor that the monitor saw in this one."""
        self._policy.begin()


def _finite(value: Any) -> float | None:
    """What is measured, or None."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


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
