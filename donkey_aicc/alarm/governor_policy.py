"""What the car does about the alarm: go on, crawl or stop. Pure, with a clock handed in; knows nothing of donkeycar.

The part in `parts/safety_governor.py` reads channels, steps this and publishes.
"""

import time
from collections.abc import Callable

from donkey_aicc.alarm.alarm_policy import DANGER, LEVELS, NONE, WATCH
from donkey_aicc.alarm.health import OK
from donkey_aicc.alarm.timing import CRAWL_HOLD_S
from donkey_aicc.errors import ConfigError, one_of

OFF, ADVISE, SLOW, STOP = MODES = ("off", "advise", "slow", "stop")
# What it says it does; with `advise` it only says what it would do.
IDLE, FULL, SLOWED, STOPPED, WOULD_SLOW, WOULD_STOP = "off", "full", "slowed", "stopped", "would slow", "would stop"
WAITING = "waiting"  # the monitor has seen nothing yet in this drive

CRAWL_SHARE = 0.6  # of the usual throttle of nominal drives: slow enough to stay, fast enough not to stand
_FREE, _CRAWL, _HALT = range(3)


class GovernorPolicy:
    """(level of the alarm, hazard within a second, throttle) -> (throttle, what it does).

    watch: crawl. danger: crawl, and in mode `stop` halt if the hazard is at least `stop_hazard`, which without a hazard model is
    always. A halt stays until the alarm is at none **and** the driver has confirmed after that, or has driven himself in
    between. It only ever lowers forward throttle: braking and reversing pass, and nothing is added. A mode that acts
    holds the pilot until the monitor was healthy once in this drive.
    """

    def __init__(
        self, mode: str, *, cruise: float, stop_hazard: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """clock: the drive's seconds; called once per step."""
        if not 0.0 <= cruise <= 1.0 or not 0.0 <= stop_hazard <= 1.0:
            raise ConfigError(f"the governor needs cruise and stop_hazard in 0..1, got {cruise} and {stop_hazard}")
        self._crawl, self._stop_hazard, self._clock = CRAWL_SHARE * cruise, stop_hazard, clock
        one_of("governor mode", mode, MODES)
        self.mode = mode
        self.begin()

    def begin(self) -> None:
        """Another drive."""
        self._has_seen = False
        self.release()

    def set_mode(self, mode: str) -> None:
        """Another mode also forgets what was: it starts free. The mode that it has already changes nothing."""
        one_of("governor mode", mode, MODES)
        if mode != self.mode:
            self.mode = mode
            self.release()

    @property
    def acts(self) -> bool:
        """Whether this mode ever changes a throttle."""
        return self.mode in (SLOW, STOP)

    def release(self) -> None:
        """Nothing holds the car but the wait for the monitor."""
        self._doing, self._held_until_s, self._level = _FREE, -1.0, NONE

    def confirm(self) -> bool:
        """The driver has looked: a halt ends if its evidence is gone. While there is evidence, or no halt, it means nothing."""
        if self._doing != _HALT or self._level != NONE:
            return False
        self.release()
        return True

    def step(self, level: str, near_hazard: float, throttle: float, human_drives: bool, health: str = OK) -> tuple[float, str]:
        """One frame. An unknown level counts as watch: not knowing is no reason to stop, nor to go on as before."""
        now = self._clock()
        self._has_seen = self._has_seen or health == OK
        if self.mode == OFF or human_drives:
            self.release()
            return throttle, IDLE
        self._level = level if level in LEVELS else WATCH
        if self.acts and not self._has_seen:
            return min(throttle, 0.0), WAITING
        self._decide(now, near_hazard)
        if self._doing == _FREE:
            return throttle, FULL
        if self.mode == ADVISE:
            return throttle, WOULD_STOP if self._doing == _HALT else WOULD_SLOW
        if self._doing == _HALT:
            return min(throttle, 0.0), STOPPED
        return min(throttle, self._crawl), SLOWED

    def _decide(self, now: float, near_hazard: float) -> None:
        if self._doing == _HALT:
            return
        if self._level == DANGER and self.mode in (ADVISE, STOP) and not near_hazard < self._stop_hazard:
            self._doing = _HALT
        elif self._level != NONE:
            self._doing, self._held_until_s = _CRAWL, now + CRAWL_HOLD_S
        elif not now < self._held_until_s:
            self._doing = _FREE
