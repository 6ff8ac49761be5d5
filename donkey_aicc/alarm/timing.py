"""Every hold and window of the alarm and the governor, in seconds, each with its reason."""

import itertools
from collections.abc import Callable

CRAWL_HOLD_S = 1.0  # a crawl outlasts its evidence by so much: a car that hops helps nobody


def tick_clock(rate_hz: float) -> Callable[[], float]:
    """The clock of a drive that does not follow the wall clock: every call is the next tick."""
    ticks = itertools.count()
    return lambda: next(ticks) / rate_hz
