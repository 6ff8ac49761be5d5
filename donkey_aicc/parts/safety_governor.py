"""SafetyGovernor: slows or stops the pilot's car while the alarm says so."""

import logging
import math
from collections.abc import Sequence
from typing import Any

from donkey_aicc.calibration.alarm import NEAR_STEPS
from donkey_aicc.calibration.alarm_policy import WATCH
from donkey_aicc.limits import drive_command
from donkey_aicc.parts.governor_policy import MODES, STOPPED, GovernorPolicy

logger = logging.getLogger(__name__)

USER_MODES = (None, "user", "local_angle")  # who has the throttle: in local_angle the pilot only steers


class SafetyGovernor:
    """Donkeycar part before the drivetrain: (alarm, hazard, throttle, mode) -> (throttle, action).

    Reads, steps the policy, publishes. In modes in which the user has the throttle it does nothing ('off').
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

    def confirm(self) -> None:
        """The driver lets a stopped car go on, once the evidence is gone."""
        self._policy.confirm()

    def run(self, alarm: Any, hazard: Any, throttle: Any, mode: str | None = None) -> tuple[float, str]:
        """Never raises; a throttle that is no number is 0."""
        meant = drive_command(throttle)
        try:
            level = alarm if isinstance(alarm, str) else WATCH
            return self._policy.step(level, self._near_hazard(hazard), meant, mode in USER_MODES)
        except Exception:  # an exception here would stop the whole car, brakes and all
            logger.exception("the governor failed; the throttle is cut")
            return min(meant, 0.0), STOPPED

    def _near_hazard(self, hazard: Any) -> float:
        """Unknown counts as certain."""
        if self._near is None or not isinstance(hazard, list | tuple) or len(hazard) <= self._near:
            return 1.0
        value = hazard[self._near]
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else 1.0

    def shutdown(self) -> None:
        """A stop of this drive does not go into the next."""
        self._policy.release()
