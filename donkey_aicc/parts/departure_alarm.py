"""DepartureAlarm: hazard, level and reason of every tick, from the newest signs and this tick's prediction."""

import logging
import math
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel, AlarmStream
from donkey_aicc.alarm.alarm_policy import DANGER, NONE, WATCH
from donkey_aicc.alarm.signs import SIGNS
from donkey_aicc.parts import states

logger = logging.getLogger(__name__)

# What the monitor itself cannot judge: without pictures nobody can drive, without fresh scores nobody knows.
BLIND = {states.NO_IMAGE: "no picture", states.BAD_IMAGE: "the picture cannot be read", states.FROZEN: "the camera is frozen"}
UNSURE = {
    states.STALE: "the monitor cannot keep up",
    states.SCORER_DOWN: "the monitor is down",
    states.NOT_FINITE: "the monitor computed no numbers",
}
BLIND_FRAMES = 3  # in a row: one lost frame is no alarm


class DepartureAlarm:
    """Donkeycar part before the governor: (signs, p, frame scores, state, age in s) -> (hazard, alarm, reason).

    hazard: one probability per horizon, empty without a fitted hazard. Warming up is no alarm: a car must be able to start.
    """

    def __init__(self, model: AlarmModel, horizons: tuple[int, ...], *, max_age_s: float = 1.5) -> None:
        self._stream = AlarmStream(model, horizons)
        self._horizons, self._max_age_s = len(horizons), max_age_s
        self._blind, self._seen = 0, False

    def run(
        self, signs: Any, p: Any = None, frame_scores: Any = None, state: Any = None, age_s: Any = None
    ) -> tuple[list[float], str, str]:
        """Never raises."""
        try:
            return self._judge(signs, p, frame_scores or {}, state, age_s)
        except Exception:  # an exception here would stop the car
            logger.exception("the alarm could not be computed")
            return [], WATCH, "the alarm failed"

    def _judge(self, signs: Any, p: Any, frame_scores: dict[str, Any], state: Any, age_s: Any) -> tuple[list[float], str, str]:
        known = signs is not None and len(signs) == len(SIGNS)
        reading = self._stream.step(
            np.array([math.nan if value is None else value for value in signs]) if known else None,
            np.array(p, dtype=np.float64) if p is not None and len(p) == self._horizons else None,
            frame_scores.get("tta_spread"),
        )
        self._seen = self._seen or known
        self._blind = self._blind + 1 if state in BLIND else 0
        hazard = list(reading.hazard)
        if self._seen and self._blind >= BLIND_FRAMES:
            return hazard, DANGER, BLIND[state]
        old = self._seen and isinstance(age_s, int | float) and age_s > self._max_age_s
        if reading.level == NONE and (old or self._seen and state in UNSURE):
            return hazard, WATCH, UNSURE.get(state, UNSURE[states.STALE])
        return hazard, reading.level, reading.reason

    def false_alarm(self) -> None:
        """The driver says that there was nothing: the alarm becomes a little calmer and the level ends."""
        level = self._stream.policy.false_alarm()
        if level != NONE:
            logger.info("false alarm (%s) noted; %s begins at %.2f now", level, level, self._stream.policy.threshold(level))

    def reset(self) -> None:
        """The next frame starts a new sequence."""
        self._stream.reset()
        self._blind, self._seen = 0, False

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next, what the driver said about false alarms apart."""
        self.reset()
