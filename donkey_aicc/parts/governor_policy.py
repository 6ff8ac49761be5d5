"""What the governor does, frame by frame: pure policy, no donkeycar."""

from donkey_aicc.calibration.alarm_policy import DANGER, LEVELS, NONE, WATCH
from donkey_aicc.errors import ConfigError, one_of

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
