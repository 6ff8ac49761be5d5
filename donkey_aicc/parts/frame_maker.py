"""FrameMaker: what camera and commands say in one tick -> the frame to score, or why there is none."""

import logging
import math
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.preprocess import to_model_image
from donkey_aicc.parts import states
from donkey_aicc.parts.monitor_stream import Frame

logger = logging.getLogger(__name__)

FROZEN_S = 0.5  # a picture that has not changed for so long is not the world


class FrameMaker:
    """Decides where a sequence begins: at the first frame, after a gap of over `gap_s`, after a tick without a usable frame."""

    def __init__(self, gap_s: float, frozen_s: float, tick_s: float | None = None) -> None:
        """tick_s: seconds that each tick stands for, in a simulation that does not follow the clock."""
        self._gap_s, self._frozen_s, self._tick_s = gap_s, frozen_s, tick_s
        self._ticks = 0
        self._new_sequence = True
        self._last_image: np.ndarray | None = None
        self._frame_s = self._changed_s = math.nan  # when a usable frame came, and when the picture was another one
        self._complained = ""

    def break_sequence(self) -> None:
        """The next frame begins a sequence."""
        self._new_sequence = True

    def make(self, now: float, image: Any, steering: Any, throttle: Any) -> tuple[Frame | None, str]:
        """The frame, None where there is none to score, and the state to tell, empty if all is well. Never raises."""
        self._ticks += 1
        passed = now if self._tick_s is None else self._tick_s * self._ticks
        pixels, trouble = self._pixels(image)
        command = _command(steering, throttle)
        frozen = self._frozen(passed, pixels)
        if pixels is None or command is None:  # a replayed tub is cut at such a record too
            self._new_sequence = True
            unknown = steering is None or throttle is None
            return None, frozen or trouble or (states.NO_COMMAND if unknown else states.NOT_FINITE)
        starts = self._new_sequence or passed - self._frame_s > self._gap_s
        self._new_sequence, self._frame_s = False, passed
        return Frame(now, pixels, *command, starts_sequence=starts), frozen

    def _pixels(self, image: Any) -> tuple[np.ndarray | None, str]:
        if image is None:
            return None, states.NO_IMAGE
        try:
            return to_model_image(image), ""
        except (AiccError, TypeError, ValueError) as error:
            if str(error) != self._complained:
                self._complained = str(error)
                logger.error("a frame cannot be scored: %s", error)
            return None, states.BAD_IMAGE

    def _frozen(self, now: float, image: np.ndarray | None) -> str:
        """A picture that does not change, and none at all, for `frozen_s` by the clock, whatever the rate of the loop."""
        last = self._last_image
        same = image is None if last is None else image is not None and np.array_equal(image, last)
        if not same or math.isnan(self._changed_s):
            self._last_image, self._changed_s = image, now
        return states.FROZEN if now - self._changed_s >= self._frozen_s else ""


def _command(steering: Any, throttle: Any) -> tuple[float, float] | None:
    """Within [-1, 1], as tubs are read; None if one of them is unknown or not finite."""
    try:
        values = float(steering), float(throttle)
    except (TypeError, ValueError):
        return None
    if not all(math.isfinite(value) for value in values):
        return None
    return min(max(values[0], -1.0), 1.0), min(max(values[1], -1.0), 1.0)
