"""DepartureAlarm: hazard, level and reason of every tick, from newest signs, this tick's prediction and the monitor's health."""

import logging
import math
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel, AlarmStream
from donkey_aicc.alarm.alarm_policy import DANGER, NONE, WATCH
from donkey_aicc.alarm.hands import Hands, without_steering
from donkey_aicc.alarm.health import BLIND, DOUBTFUL, OK
from donkey_aicc.alarm.signs import SIGNS
from donkey_aicc.errors import AiccError
from donkey_aicc.parts.alarm_memory import AlarmMemory

logger = logging.getLogger(__name__)


def with_health(level: str, reason: str, health: str) -> tuple[str, str]:
    """Level and reason of a monitor of this health."""
    state, _, why = health.partition(": ")
    if state == BLIND:
        return DANGER, f"the monitor is blind ({why or 'its health is not known'})"
    return (WATCH, why) if state == DOUBTFUL and level == NONE else (level, reason)


class DepartureAlarm:
    """Donkeycar part before the governor: (signs, p, frame scores, health, mode) -> (hazard, alarm, reason).

    hazard: one probability per horizon, empty without a fitted hazard. A blind monitor is a danger whatever came before, a
    doubtful one a watch. Waiting for the first pictures is no alarm: a car must be able to start, and the governor holds it.
    """

    def __init__(
        self,
        model: AlarmModel,
        horizons: tuple[int, ...],
        *,
        memory: AlarmMemory | None = None,
        first_lap_is_normal: bool = False,
    ) -> None:
        """memory: of earlier drives. first_lap_is_normal: the driver says so in advance, and it sets today's nominal."""
        self._new_stream = lambda: AlarmStream(model, horizons)
        self._stream = self._new_stream()
        self._memory, self._recentre_due = memory, first_lap_is_normal
        if memory is not None and (recalled := memory.recall(self._stream)):
            logger.info("the alarm is %s, as you told it", recalled)
        self._horizons, self._rate_hz = len(horizons), model.signs.rate_hz
        self._hands = Hands(self._rate_hz)

    def run(
        self, signs: Any, p: Any = None, frame_scores: Any = None, health: Any = OK, mode: Any = None
    ) -> tuple[list[float], str, str]:
        """Never raises. A health that is no text counts as blind."""
        try:
            hazard, level, reason = self._judge(signs, p, frame_scores or {}, mode)
            said = str(health) if isinstance(health, str) else BLIND
        except Exception:  # an exception here would stop the car
            logger.exception("the alarm could not be computed")
            hazard, level, reason, said = [], NONE, "", f"{BLIND}: the alarm failed"
        return hazard, *with_health(level, reason, said)

    def _judge(self, signs: Any, p: Any, frame_scores: dict[str, Any], mode: Any) -> tuple[list[float], str, str]:
        known = signs is not None and len(signs) == len(SIGNS)
        row = np.array([math.nan if value is None else value for value in signs]) if known else None
        forecast = np.array(p, dtype=np.float64) if p is not None and len(p) == self._horizons else None
        if not self._hands.are_the_pilots(mode):  # what it foresees rests on the pilot's steering
            row, forecast = None if row is None else without_steering(row), None
        reading = self._stream.step(row, forecast, None if forecast is None else frame_scores.get("tta_spread"))
        if self._recentre_due and self._stream.lap_driven:
            self._recentre_due = False
            logger.info("%s", self._stream.recentre().statement())
            self._keep()
        return list(reading.hazard), reading.level, reading.reason

    def false_alarm(self) -> str:
        """The driver says that there was nothing: the alarm becomes a little calmer and the level ends."""
        level = self._stream.policy.false_alarm()
        if level == NONE:
            raise AiccError("there was no alarm just now: nothing was changed")
        said = f"false alarm noted: {level} begins at {self._stream.policy.threshold(level):.2f} of its range now"
        logger.info(said)
        self._keep()
        return said

    @property
    def today(self) -> str:
        """What the watch of the day has to say: '' or that today is not like the calibration's days."""
        return "" if self._stream.day is None else self._stream.day.statement()

    def lap_was_normal(self) -> str:
        """The driver says that the last lap was: it sets what is nominal today, in the next tick."""
        if not self._stream.lap_driven:
            raise AiccError("there is no whole lap yet: drive one, then say that it was normal")
        self._recentre_due = True
        return "the last lap sets what is nominal today"

    def _keep(self) -> None:
        if self._memory is not None:
            self._memory.keep(self._stream)

    def reset(self) -> None:
        """The next frame starts a new sequence."""
        self._stream.reset()

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next, but for what a memory keeps."""
        self._stream, self._hands = self._new_stream(), Hands(self._rate_hz)
