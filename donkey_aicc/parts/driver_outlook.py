"""DriverOutlook: what the driver is told every tick, as a number and in words, and a line in the log when the state changes."""

import logging
import time
from collections.abc import Callable
from typing import Any

from donkey_aicc.alarm.alarm_policy import NONE
from donkey_aicc.alarm.outlook import BAD, BLIND, LEVELS_OF, SteadyState, advice_of, outlook_now, state_of

logger = logging.getLogger(__name__)

OK = "ok"  # health with nothing to say


class DriverOutlook:
    """Donkeycar part behind the governor: (alarm, reason, hazard, confidence, health, action) -> (stays, state, advice).

    on_the_road: the confidence itself says whether the car stays in its lane.
    """

    def __init__(self, on_the_road: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: the drive's seconds; called once per tick."""
        self._on_the_road, self._clock = on_the_road, clock
        self._said: str = ""
        self._state = SteadyState()

    def run(
        self, alarm: Any, reason: Any, hazard: Any, confidence: Any = None, health: Any = None, action: Any = None
    ) -> tuple[list[float], str, str]:
        """Never raises."""
        try:
            level, seen, done = (value if isinstance(value, str) else "" for value in (alarm, health, action))
            by_confidence = confidence if self._on_the_road and not hazard else None
            state, advice = self._state.step(state_of(level, seen, done), self._clock()), advice_of(done, level)
            stays = outlook_now(LEVELS_OF.get(state, level), seen, hazard, by_confidence)
            self._tell(state, reason if level != NONE else seen.removeprefix(OK) or advice)
            return stays, state, advice
        except Exception:  # an exception here would stop the car
            logger.exception("the outlook could not be computed")
            return [], "", ""

    def _tell(self, state: str, why: Any) -> None:
        if state == self._said:
            return
        self._said = state
        logger.log(logging.WARNING if state in (BAD, BLIND) else logging.INFO, f"{state}: {why}" if why else state)

    def shutdown(self) -> None:
        """The next drive begins with nothing said."""
        self._said, self._state = "", SteadyState()
