"""Does the monitor see? Decided anew in every tick, from the drive's seconds alone. Pure; knows nothing of donkeycar.

A monitor without a fresh, distinct, scored picture cannot know whether the car is safe. It says so, whatever it saw before.
"""

import math
from collections import deque
from dataclasses import dataclass

from donkey_aicc.alarm.timing import FROZEN_S, LOST_S, SHARE_S, STANDING_START_S, STANDS_S, WAIT_S, WELL_S

OK, WAITING, DOUBTFUL, BLIND = "ok", "waiting", "doubtful", "blind"
STANDING_THROTTLE = 0.02  # up to here the wheels are not driven
# Of the pictures that the camera should have given in the last second. A tenth lost is a bad cable and drives well; with over
# 30 % lost the pilot steers by old pictures now and then, and crawls. With five a second, of 20, a crawling car goes a hand's
# breadth from one to the next; with fewer, most of what it does is a guess.
DOUBTFUL_SHARE, BLIND_SHARE = 0.7, 0.2
_ROUNDING_S = 1e-6  # of sums of seconds


@dataclass(frozen=True)
class Glance:
    """What one tick brought. Times are the drive's seconds; NaN: never."""

    now_s: float
    usable_s: float  # the newest picture that can be used
    fresh_s: float  # the newest picture whose bytes the second before did not have
    new_s: float  # the newest picture that differed from that second by more than noise
    scored_s: float  # when the newest frame was taken whose scores are numbers
    throttle: float  # that was sent in the tick before
    trouble: str = ""  # why something is not as it should be, in words
    unsure: str = ""  # why what was computed is of little use in this tick


class MonitorHealth:
    """Glances, tick by tick -> `ok`, `waiting: why`, `doubtful: why` or `blind: why`.

    frozen_s: without a new picture, the camera is frozen. max_age_s: older scores count as none.
    share: of the ticks that bring a new picture when all is well; below 1 where the camera is slower than the loop.
    noise_free: a simulator's camera, which gives the same bytes while the car stands.
    """

    def __init__(
        self, *, frozen_s: float = FROZEN_S, max_age_s: float = 1.5, share: float = 1.0, noise_free: bool = False
    ) -> None:
        self._frozen_s, self._max_age_s, self._share, self._noise_free = frozen_s, max_age_s, share, noise_free
        self.reset()

    def reset(self) -> None:
        """Another drive."""
        self._began_s = self._last_s = self._well_s = math.nan
        self._was_ok = False
        self._ticks: deque[tuple[float, bool]] = deque()
        self._standing, self._idle_s, self._pushed_s = True, 0.0, 0.0

    def step(self, glance: Glance) -> str:
        """The health of this tick."""
        now = glance.now_s
        if math.isnan(self._began_s):
            self._began_s = self._last_s = now
        share, still = self._usable_share(glance), self._still_while_driven(glance)
        self._last_s = now
        fault = self._sees_not(glance, share, still)
        doubt = fault or self._doubt(glance, share)
        if fault:
            self._well_s = math.nan
        elif math.isnan(self._well_s):
            self._well_s = now
        if not doubt and now - self._well_s >= WELL_S:
            self._was_ok = True
            return OK
        if not self._was_ok and now - self._began_s < WAIT_S:
            return f"{WAITING}: {doubt or 'the first pictures come in'}"
        if fault:
            return f"{BLIND}: {fault}"
        return f"{DOUBTFUL}: {doubt or 'it has just begun to see again'}"

    def _sees_not(self, glance: Glance, share: float, still: bool) -> str:
        """Why there is no picture that one could judge; '' if there is one."""
        now = glance.now_s
        why = f" ({glance.trouble})" if glance.trouble else ""
        if not now - glance.usable_s < LOST_S:
            return f"no picture{_since(now, glance.usable_s)}{why}"
        if not self._noise_free and not now - glance.fresh_s < self._frozen_s:
            return f"the camera repeats old pictures{_since(now, glance.fresh_s)}"
        if still:
            return "the picture does not change although the wheels are driven"
        if share < BLIND_SHARE:
            return _few(share)
        if not now - glance.scored_s < self._max_age_s:
            return f"no picture was scored{_since(now, glance.scored_s)}{why}"
        return ""

    def _doubt(self, glance: Glance, share: float) -> str:
        if share < DOUBTFUL_SHARE:
            return _few(share)
        late_s = glance.now_s - glance.scored_s
        return glance.unsure or ("" if late_s < self._max_age_s / 2 else f"the scores are {late_s:.1f} s late")

    def _usable_share(self, glance: Glance) -> float:
        """Of the last second, against what is usual; 1 until there is half a second to judge."""
        now = glance.now_s
        self._ticks.append((now, now == (glance.usable_s if self._noise_free else glance.fresh_s)))
        while self._ticks[0][0] <= now - SHARE_S:
            self._ticks.popleft()
        if now - self._began_s < SHARE_S / 2:
            return 1.0
        return min(1.0, sum(good for _, good in self._ticks) / len(self._ticks) / self._share)

    def _still_while_driven(self, glance: Glance) -> bool:
        """From a standing start a car needs a while until its picture moves; one that moves does not stand from tick to tick."""
        passed_s = min(glance.now_s - self._last_s, LOST_S)  # a loop that hung says nothing about the picture
        driven = glance.throttle > STANDING_THROTTLE
        if glance.new_s == glance.now_s:
            self._pushed_s, self._standing = 0.0, self._standing and not driven
        elif driven:
            self._pushed_s += passed_s
        self._idle_s = 0.0 if driven else self._idle_s + passed_s
        if self._idle_s >= STANDS_S:
            self._standing, self._pushed_s = True, 0.0
        return self._pushed_s >= (STANDING_START_S if self._standing else self._frozen_s) - _ROUNDING_S


def _few(share: float) -> str:
    return f"only {share:.0%} of the pictures of the last second can be used"


def _since(now: float, then: float) -> str:
    return " yet" if math.isnan(then) else f" for {now - then:.1f} s"
