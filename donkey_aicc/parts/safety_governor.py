"""SafetyGovernor: slows or stops the pilot's car while the alarm says so. CommandLimits: the last part before the drive train.

What the governor does, frame by frame, is a pure policy that knows nothing of donkeycar.
"""

import logging
import math
from collections.abc import Sequence
from typing import Any

from donkey_aicc.alarm.alarm_model import NEAR_STEPS
from donkey_aicc.alarm.alarm_policy import DANGER, LEVELS, NONE, WATCH
from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.limits import drive_command

logger = logging.getLogger(__name__)

OFF, ADVISE, SLOW, STOP = MODES = ("off", "advise", "slow", "stop")
# What it says it does; with `advise` it only says what it would do.
IDLE, FULL, SLOWED, STOPPED, WOULD_SLOW, WOULD_STOP = "off", "full", "slowed", "stopped", "would slow", "would stop"

CRAWL_SHARE = 0.6  # of the usual throttle of nominal drives: slow enough to stay, fast enough not to stand
HOLD_FRAMES = 20  # a crawl lasts at least a second after its evidence: a car that hops helps nobody
_FREE, _CRAWL, _HALT = range(3)


class GovernorPolicy:
    """(level of the alarm, hazard within a second, throttle) -> (throttle, what it does).

    watch: crawl. danger: crawl, and in mode `stop` halt if the hazard is at least `stop_hazard`, which without a hazard model is
    always. A halt stays until the alarm is at none **and** the driver has confirmed, or has driven himself in between. It only
    ever lowers forward throttle: braking and reversing pass, and nothing is added.
    """

    def __init__(self, mode: str, *, cruise: float, stop_hazard: float = 0.0) -> None:
        if not 0.0 <= cruise <= 1.0 or not 0.0 <= stop_hazard <= 1.0:
            raise ConfigError(f"the governor needs cruise and stop_hazard in 0..1, got {cruise} and {stop_hazard}")
        self._crawl, self._stop_hazard = CRAWL_SHARE * cruise, stop_hazard
        self.set_mode(mode)

    def set_mode(self, mode: str) -> None:
        """Also forgets what was: a new mode starts free."""
        one_of("governor mode", mode, MODES)
        self.mode = mode
        self.release()

    def release(self) -> None:
        """As at the start of a drive."""
        self._doing, self._hold, self._confirmed = _FREE, 0, False

    def confirm(self) -> None:
        """The driver has looked: a halt may end once its evidence is gone. Means nothing while there is none."""
        self._confirmed = self._doing == _HALT

    def step(self, level: str, near_hazard: float, throttle: float, human_drives: bool) -> tuple[float, str]:
        """One frame. An unknown level counts as watch: not knowing is no reason to stop, nor to go on as before."""
        if self.mode == OFF or human_drives:
            self.release()
            return throttle, IDLE
        self._decide(level if level in LEVELS else WATCH, near_hazard)
        if self._doing == _FREE:
            return throttle, FULL
        if self.mode == ADVISE:
            return throttle, WOULD_STOP if self._doing == _HALT else WOULD_SLOW
        if self._doing == _HALT:
            return min(throttle, 0.0), STOPPED
        return min(throttle, self._crawl), SLOWED

    def _decide(self, level: str, near_hazard: float) -> None:
        if self._doing == _HALT and not (self._confirmed and level == NONE):
            return
        wanted = _FREE if level == NONE else _CRAWL
        if level == DANGER and self.mode in (ADVISE, STOP) and not near_hazard < self._stop_hazard:
            wanted = _HALT
        if self._doing == _HALT:
            self.release()
        if wanted != _FREE:
            self._doing, self._hold = wanted, HOLD_FRAMES
            self._confirmed = False
        elif self._hold:
            self._hold -= 1
        else:
            self._doing = _FREE


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
