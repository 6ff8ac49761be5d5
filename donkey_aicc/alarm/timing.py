"""Every hold and window of the alarm and the governor, in seconds, each with its reason."""

import itertools
from collections.abc import Callable

# Does the monitor see? (health.py)
LOST_S = 0.25  # without any picture: one or two lost frames are nothing, a car at 2 m/s goes half a metre in this time
FROZEN_S = 0.5  # without a new picture: slow cameras and a hiccup of the USB bus stay below, a lane is left in a second
MEMORY_S = 1.0  # a picture that was there within it is not new: a buffer that is handed out round and round is shorter
SHARE_S = 1.0  # over which usable pictures are counted: long enough for 10 of them at 10 Hz
STANDING_START_S = 2.0  # from throttle to a picture that moves: ESC, motor and a heavy car need up to so much
STANDS_S = 0.5  # without throttle: the next start is a standing one
WELL_S = 0.5  # of unbroken sight until the monitor counts as well (again): by then every fast sign has its window
WAIT_S = 3.0  # for the first sight of a drive: cameras and the scorer's thread need a second; later it is a fault

# What is different from nominal? (signs.py, response.py, evidence.py, today.py, alarm_policy.py)
WINDOW_S = 0.5  # of the fast signs' means: twice as long, an alarm comes later and ends later, and is no surer
MOVING_S = 2.0  # with throttle until a picture that hardly moves is strange: a standing start takes that long
ANSWERS_S = 0.5  # with throttle until the picture's answer to the steering is judged: the fit knows how a start goes
STEERING_S = 0.5  # of commands that the turning of the picture may follow: servo, car and camera are late by less
SHORT_S, MIDDLE_S, LONG_S = 0.2, 0.5, 1.0  # windows of that answer: the short one is first, the long one sees the smallest
FOLLOW_S = 60.0  # in which the nominal follows the day: a cloud is followed, a lamp that fails is not
HELD_S = 0.15  # above a threshold until a level begins: one odd frame is no alarm
# Below it until the evidence counts as gone. The hysteresis is in time alone: a nominal drive may stay just below its threshold
# from start to end, and a release at a lower one would never come.
GONE_S = 0.5
BEFORE_S = (1.0, 3.0)  # a departure: where its hazard must have shown itself

STILL_S = 0.12  # a braked car whose picture has not changed for so long stands: two pictures of 20 Hz
BLIND_LASTS_S = 0.1  # of a blindness that stops the car: one that ends at once, as after half a second of one picture, is over
CRAWL_HELPS_S = 8.0  # of crawling in danger: five metres, a bend and a straight; what lasts longer is not the place's
CALM_S = 1.5  # a state in words gets better only after so long: words that flicker cannot be read
CRAWL_HOLD_S = 1.0  # a crawl outlasts its evidence by so much: a car that hops helps nobody


def frames_in(seconds: float, rate_hz: float) -> int:
    """At least one."""
    return max(1, round(seconds * rate_hz))


def tick_clock(rate_hz: float) -> Callable[[], float]:
    """The clock of a drive that does not follow the wall clock: every call is the next tick."""
    ticks = itertools.count()
    return lambda: next(ticks) / rate_hz
