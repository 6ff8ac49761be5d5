"""A controlled stop: brake until the car stands, then neutral. Pure, with the time handed in; it never drives the car backwards.

Where the car's speed is measured, that ends the brake. Else the picture does, once it no longer moves. And at the latest the time
that `donkey-aicc brake-test` measured once.
"""

import math
from dataclasses import dataclass

from donkey_aicc.alarm.timing import STILL_S
from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.limits import DIRECT, ESC_KINDS, NEUTRAL_FIRST

WALKING_MPS, SLOW_MPS = 0.1, 0.3  # where the brake ends; a car that is slower than this rolls out: one push might be too much
DRIVING_THROTTLE = 0.02
PATIENCE = 1.5  # times the measured time, where the speed is measured: a slope, or a car faster than usual
_FASTER_S, _SLOWER_S = 0.8, 0.3  # how a car is believed to follow its throttle: too slow rather than too fast


@dataclass(frozen=True)
class BrakeSettings:
    """How this car brakes: the AICC_BRAKE_* keys."""

    throttle: float = 0.0  # of the brake, -1 to 0; 0: it has none, and a stop coasts
    seconds: float = 0.0  # of braking, from the usual speed to standstill
    lag_s: float = 0.0  # the car goes on braking for so long when the brake has ended
    kind: str = DIRECT  # of the speed controller

    def __post_init__(self) -> None:
        if not -1.0 <= self.throttle <= 0.0:
            raise ConfigError(f"AICC_BRAKE_THROTTLE must be from -1 to 0, got {self.throttle}")
        for key, value in (("AICC_BRAKE_S", self.seconds), ("AICC_BRAKE_LAG_S", self.lag_s)):
            if not 0.0 <= value < math.inf:
                raise ConfigError(f"{key} must be a finite number >= 0, got {value}")
        one_of("AICC_BRAKE_KIND", self.kind, ESC_KINDS)

    @property
    def brakes(self) -> bool:
        return self.throttle < 0.0 and self.seconds > 0.0


COASTS = BrakeSettings()
SIMULATED = BrakeSettings(throttle=-0.8, seconds=0.2, lag_s=0.12)  # the embedded simulator's car


class Brake:
    """`note` every throttle that is sent, `step` while the car is to stop, `release` it when it may go.

    One push per stop: speed controllers take a second one as reverse. One that takes even the first as reverse after neutral is
    braked only out of forward throttle; otherwise the car rolls out.
    """

    def __init__(self, settings: BrakeSettings = COASTS, cruise: float = 0.0) -> None:
        """cruise: the usual throttle, for which the settings' seconds were measured; 0: not known."""
        self.settings, self._cruise = settings, cruise
        self.begin()

    def begin(self) -> None:
        """Another drive."""
        self._pace = self._sent = 0.0  # the throttle that the car's speed goes with, the one sent last
        self._noted_s, self._tick_s = math.nan, 0.0
        self._measures = False  # the sensor of the speed has shown that it works
        self.release()

    def release(self) -> None:
        """The car may go on; the next stop is a new one."""
        self._since_s = self._last_s = self._last_mps = math.nan
        self._began_mps, self._least_mps = math.nan, math.inf
        self.over = False  # neutral from here on

    def note(self, now: float, throttle: float) -> None:
        """What goes to the motor in this tick."""
        passed_s = 0.0 if math.isnan(self._noted_s) else max(now - self._noted_s, 0.0)
        self._noted_s, self._tick_s, self._sent, wanted = now, passed_s, throttle, max(throttle, 0.0)
        follows_s = _FASTER_S if wanted > self._pace else _SLOWER_S
        self._pace += (wanted - self._pace) * (1.0 - math.exp(-passed_s / follows_s))

    def step(self, now: float, speed_mps: float | None = None, still_s: float | None = None) -> float:
        """The throttle of this tick of a stop, <= 0.

        speed_mps: None where nothing measures it. still_s: for how long the picture has not changed; None: not known.
        """
        if math.isnan(self._since_s):
            self._since_s, self._limit_s = now, self._time_s()
            rolls = self.settings.kind == NEUTRAL_FIRST and self._sent <= DRIVING_THROTTLE
            self.over = rolls or not self.settings.brakes
        self._measures = self._measures or (speed_mps is not None and abs(speed_mps) > WALKING_MPS)
        if speed_mps is not None and self._measures:
            self.over = self.over or self._slow(now, speed_mps) or not self._within(now, PATIENCE * self.settings.seconds)
            self._last_s, self._last_mps = now, speed_mps
        else:
            stands = still_s is not None and STILL_S <= still_s < now - self._since_s
            self.over = self.over or stands or not self._within(now, self._limit_s)
        return 0.0 if self.over else self.settings.throttle

    def _time_s(self) -> float:
        """What the brake may take without a measured speed: less for a car that was slower than usual."""
        known = self._cruise > 0.0 and self.settings.kind == DIRECT  # the others stand still as long as they are braked
        return self.settings.seconds * (min(self._pace / self._cruise, 1.0) if known else 1.0)

    def _within(self, now: float, limit_s: float) -> bool:
        return now + self._tick_s / 2 - self._since_s < limit_s  # a tick that is more than half outside is not begun

    def _slow(self, now: float, speed_mps: float) -> bool:
        """What is under way brakes the rest, or the car is faster again: a sensor may not tell backwards from forwards."""
        passed_s = now - self._last_s
        slowing = (self._last_mps - speed_mps) / passed_s if passed_s > 0.0 else 0.0
        first, self._least_mps = math.isnan(self._last_s), min(self._least_mps, speed_mps)
        self._began_mps = speed_mps if first else self._began_mps
        if first and speed_mps < SLOW_MPS:
            return True
        turned = self._least_mps + WALKING_MPS < speed_mps and self._least_mps < self._began_mps / 2
        return turned or speed_mps - max(slowing, 0.0) * self.settings.lag_s <= WALKING_MPS
