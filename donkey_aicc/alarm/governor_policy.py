"""What the car does about the alarm: go on, crawl or stop. Pure, with a clock handed in; knows nothing of donkeycar.

The part in `parts/safety_governor.py` reads channels, steps this and publishes.
"""

import math
import time
from collections.abc import Callable

from donkey_aicc.alarm.alarm_policy import DANGER, LEVELS, NONE, WATCH
from donkey_aicc.alarm.brake import COASTS, Brake, BrakeSettings
from donkey_aicc.alarm.health import BLIND, OK
from donkey_aicc.alarm.timing import BLIND_LASTS_S, CRAWL_HELPS_S, CRAWL_HOLD_S
from donkey_aicc.errors import ConfigError, one_of

OFF, ADVISE, SLOW, STOP = MODES = ("off", "advise", "slow", "stop")
# What it says it does; with `advise` it only says what it would do.
IDLE, FULL, SLOWED, STOPPED, WOULD_SLOW, WOULD_STOP = "off", "full", "slowed", "stopped", "would slow", "would stop"
WAITING = "waiting"  # the monitor has seen nothing yet in this drive

CRAWL_SHARE = 0.6  # of the usual throttle of nominal drives: slow enough to stay, fast enough not to stand
# Times `stop_hazard`, which is what a stop that coasts needs. Out of a crawl a brake takes a tenth of a metre: the crawl may be
# tried for longer. On driven faults of D_aug 1 to 3 leave the same cars; from 4 on more leave (studies/log.md).
TRY_CRAWL = 3.0
_FREE, _CRAWL, _HALT = range(3)
_ROUNDING_S = 1e-6  # of differences of seconds


class GovernorPolicy:
    """(level of the alarm, hazard within a second, throttle) -> (throttle, what it does).

    watch: crawl. danger: crawl, and in mode `stop` halt if the monitor is blind, if the hazard is high (without a hazard model
    it always is), or if a crawl of some seconds has not brought it below `stop_hazard`. A halt brakes to standstill. It stays
    until the alarm is at none **and** the driver has confirmed after that, or has driven himself in between. Nothing but the
    brake is ever added to a throttle: the pilot's braking and reversing pass until a halt has braked. A mode that acts holds the
    pilot until the monitor was healthy once in this drive.
    """

    def __init__(
        self,
        mode: str,
        *,
        cruise: float,
        stop_hazard: float = 0.0,
        brake: BrakeSettings = COASTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """clock: the drive's seconds; called once per step."""
        if not 0.0 <= cruise <= 1.0 or not 0.0 <= stop_hazard <= 1.0:
            raise ConfigError(f"the governor needs cruise and stop_hazard in 0..1, got {cruise} and {stop_hazard}")
        self._crawl, self._stop_hazard, self._clock = CRAWL_SHARE * cruise, stop_hazard, clock
        self._brake = Brake(brake, cruise)
        self._halt_hazard = min(stop_hazard * TRY_CRAWL, max(stop_hazard, 0.5)) if brake.brakes else stop_hazard
        one_of("governor mode", mode, MODES)
        self.mode = mode
        self.begin()

    def begin(self) -> None:
        """Another drive."""
        self._has_seen = False
        self._brake.begin()
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
        # Since when the hazard has been too high for a crawl to go on for ever, and since when the monitor has been blind.
        self._helpless_s = self._blind_s = math.inf
        self._brake.release()

    def confirm(self) -> bool:
        """The driver has looked: a halt ends if its evidence is gone. While there is evidence, or no halt, it means nothing."""
        if self._doing != _HALT or self._level != NONE:
            return False
        self.release()
        return True

    def step(
        self,
        level: str,
        near_hazard: float,
        throttle: float,
        human_drives: bool,
        health: str = OK,
        speed_mps: float | None = None,
        still_s: float | None = None,
    ) -> tuple[float, str]:
        """One frame. An unknown level counts as watch: not knowing is no reason to stop, nor to go on as before.

        speed_mps, still_s: as `Brake.step` wants them.
        """
        now = self._clock()
        self._has_seen = self._has_seen or health == OK
        if self.mode == OFF or human_drives:
            self.release()
            sent, action = throttle, IDLE
        else:
            self._level = level if level in LEVELS else WATCH
            sent, action = self._act(now, near_hazard, throttle, health)
            if action == STOPPED:
                sent = self._halt(now, throttle, speed_mps, still_s)
        self._brake.note(now, sent)
        return sent, action

    def _act(self, now: float, near_hazard: float, throttle: float, health: str) -> tuple[float, str]:
        if self.acts and not self._has_seen:
            return min(throttle, 0.0), WAITING
        self._decide(now, near_hazard, health.startswith(BLIND))
        if self._doing == _FREE:
            return throttle, FULL
        if self.mode == ADVISE:
            return throttle, WOULD_STOP if self._doing == _HALT else WOULD_SLOW
        return (0.0, STOPPED) if self._doing == _HALT else (min(throttle, self._crawl), SLOWED)

    def _halt(self, now: float, throttle: float, speed_mps: float | None, still_s: float | None) -> float:
        """Where nobody knows how the car brakes, the pilot may."""
        return self._brake.step(now, speed_mps, still_s) if self._brake.settings.brakes else min(throttle, 0.0)

    def _decide(self, now: float, near_hazard: float, blind: bool) -> None:
        if self._doing == _HALT:
            return
        in_danger = self._level == DANGER and (blind or not near_hazard < self._stop_hazard)
        self._helpless_s = min(self._helpless_s, now) if in_danger else math.inf
        self._blind_s = min(self._blind_s, now) if blind else math.inf
        lasts = now - self._helpless_s >= CRAWL_HELPS_S or now - self._blind_s >= BLIND_LASTS_S - _ROUNDING_S
        if in_danger and self.mode in (ADVISE, STOP) and (lasts or not near_hazard < self._halt_hazard):
            self._doing = _HALT
        elif self._level != NONE:
            self._doing, self._held_until_s = _CRAWL, now + CRAWL_HOLD_S
        elif not now < self._held_until_s:
            self._doing = _FREE
