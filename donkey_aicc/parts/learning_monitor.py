"""LearningMonitor: the monitor of a car without a bundle. Watches from the first frame, learns its thresholds while it drives."""

import logging
import math
import threading
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.alarm.alarm_policy import DANGER, NONE
from donkey_aicc.alarm.health import BLIND, OK, Glance, MonitorHealth
from donkey_aicc.alarm.learning import LAPS, NO_HORIZON, Laps, learn_alarm, nothing_to_see
from donkey_aicc.alarm.pieces import PIECE_S
from donkey_aicc.alarm.response import STANDING_THROTTLE
from donkey_aicc.alarm.signs import FROM_SCORES, SignSettings, SignStream
from donkey_aicc.alarm.timing import HELD_S, frames_in
from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_json
from donkey_aicc.limits import drive_command
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.parts.departure_alarm import DepartureAlarm, with_health
from donkey_aicc.scoring.frame_stats import FrameStats
from donkey_aicc.untrusted import read_untrusted_json

logger = logging.getLogger(__name__)
FILE_NAME = "learned_alarm.json"
NEEDS = "a bundle trained on your own drives (donkey-aicc train) adds the number, the look ahead, and what the picture shows"


def recall(path: Path) -> AlarmModel | None:
    """What an earlier drive of this car has learned; None where nothing usable is kept."""
    try:
        return AlarmModel.from_json(read_untrusted_json(path))
    except FileNotFoundError:
        return None
    except (OSError, AiccError, KeyError, TypeError, ValueError) as error:
        logger.warning("%s cannot be used, it is learned anew: %s", path, error)
        return None


class LearningMonitor:
    """Donkeycar part: (frame, steering, throttle, fault, mark, mode) -> (status, health, alarm, reason).

    What is learned from: frames of a monitor that sees, of a car that rolls, without an injected fault and without a mark.
    """

    def __init__(self, health: MonitorHealth, rate_hz: float, keep_at: Path | None = None) -> None:
        """keep_at: the file that outlasts the drive; None: nothing is kept, as in a simulator."""
        self._health, self._rate_hz, self._keep_at = health, rate_hz, keep_at
        self._needed = round(LAPS * PIECE_S * rate_hz)
        self._use(None if keep_at is None else recall(keep_at))
        self.shutdown()

    def _use(self, model: AlarmModel | None) -> None:
        self._signs = SignStream(1, SignSettings(rate_hz=self._rate_hz) if model is None else model.signs)
        self._alarm = None if model is None else DepartureAlarm(model, NO_HORIZON)

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next, but what it has learned."""
        self._health.reset()
        self._forget_sequence()
        self._driven: list[tuple[np.ndarray, np.ndarray, int]] = []
        self._sequence, self._throttle, self._bad_frames = 0, 0.0, 0
        self._worker: threading.Thread | None = None
        self._learned: AlarmModel | None = None

    def _forget_sequence(self) -> None:
        self._stats = FrameStats()
        self._signs.reset()

    def run(
        self, frame: Any, steering: Any, throttle: Any, fault: Any = "", mark: Any = False, mode: Any = None
    ) -> tuple[str, str, str, str]:
        """Never raises."""
        try:
            sees = Glance(frame.time_s, frame.usable_s, frame.fresh_s, frame.new_s, frame.usable_s, self._throttle, frame.trouble)
            health = self._health.step(sees)
            command = np.array([drive_command(steering), drive_command(throttle)])
            self._throttle = float(command[1])
            level, reason = self._judge(frame, command, health, not fault and mark is not True, mode)
        except Exception:  # an exception here would stop the car
            logger.exception("the learning monitor failed")
            health, level, reason = f"{BLIND}: the monitor failed", NONE, ""
        return self._status(), health, *with_health(level, reason, health)

    def _judge(self, frame: Any, command: np.ndarray, health: str, nominal: bool, mode: Any) -> tuple[str, str]:
        if self._learned is not None:
            self._use(self._learned)
            self._learned = None
        if frame.image is None or frame.trouble:
            return NONE, ""
        if frame.number == 0:
            self._sequence += 1
            self._forget_sequence()
        stats = self._stats.update(images_to_array(frame.image[None]), np.array([math.nan]))
        signs = self._signs.update(stats, command[None], np.full((1, FROM_SCORES), np.nan))[0]
        unseeable = nothing_to_see(stats[0])
        self._bad_frames = self._bad_frames + 1 if unseeable else 0
        if self._bad_frames >= frames_in(HELD_S, self._rate_hz):
            return DANGER, unseeable
        if self._alarm is not None:
            _, level, reason = self._alarm.run(signs.tolist(), mode=mode)
            return level, reason
        if health == OK and nominal and not unseeable and command[1] > STANDING_THROTTLE:
            self._learn(stats[0], command)
        else:
            self._sequence += 1
        return NONE, ""

    def _learn(self, stats: np.ndarray, command: np.ndarray) -> None:
        """The fit takes a second and runs beside the loop."""
        if len(self._driven) < self._needed:
            self._driven.append((stats, command, self._sequence))
        elif self._worker is None:
            self._worker = threading.Thread(target=self._fit, name="aicc-learning", daemon=True)
            self._worker.start()

    def _fit(self) -> None:
        stats, actions, sequence = (np.array(column) for column in zip(*self._driven, strict=True))
        try:
            model = learn_alarm(Laps(stats, actions, sequence), self._rate_hz)
        except AiccError as error:
            logger.warning("these laps cannot be learned from: %s", error)
            self._driven, self._worker = [], None
            return
        logger.info("learned from %d laps of %g s; %s", LAPS, PIECE_S, model.scales.statement())
        self._learned = model
        if self._keep_at is not None:
            try:
                write_json(self._keep_at, model.to_json())
            except (OSError, ValueError) as error:
                logger.warning("what was learned is not kept for the next drive: %s", error)

    def _status(self) -> str:
        if self._alarm is not None:
            return "ok"
        laps = LAPS * len(self._driven) / self._needed
        return f"learning: {laps:.1f} of {LAPS} laps of {PIECE_S:g} s; until then it knows only darkness and a stopped camera"

    def false_alarm(self) -> str:
        """The driver says that there was nothing."""
        return self._learned_alarm().false_alarm()

    def lap_was_normal(self) -> str:
        """The driver says that the last lap sets what is nominal today."""
        return self._learned_alarm().lap_was_normal()

    def _learned_alarm(self) -> DepartureAlarm:
        if self._alarm is None:
            raise AiccError(f"the monitor still learns: {self._status()}")
        return self._alarm
