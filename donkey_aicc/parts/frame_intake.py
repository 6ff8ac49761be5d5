"""FrameIntake: this tick's camera frame as the nets see it, and whether it begins a sequence; decided here, once a tick."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from donkey_aicc.nets.preprocess import as_recorded, to_model_image
from donkey_aicc.parts import states
from donkey_aicc.scoring.settings import MAX_GAP_S
from donkey_aicc.tubs.timeline import breaks_sequence

logger = logging.getLogger(__name__)

FROZEN_S = 0.5  # a picture that has not changed for so long is not the world


@dataclass(frozen=True)
class SeenFrame:
    """One tick's picture. Number 0 begins a sequence."""

    time_s: float
    image: np.ndarray | None  # (64, 64, 3) uint8; None: it cannot be used
    number: int  # in its sequence
    state: str = ""  # what to tell a person; empty if all is well


class Still:
    """For how long a picture has been the same, or none has come."""

    def __init__(self) -> None:
        self._last: np.ndarray | None = None
        self._changed_s = math.nan

    def seconds(self, now: float, image: np.ndarray | None) -> float:
        """image: this tick's."""
        last = self._last
        same = image is None if last is None else image is not None and np.array_equal(image, last)
        if not same or math.isnan(self._changed_s):
            self._last, self._changed_s = image, now
        return now - self._changed_s


class FrameIntake:
    """Donkeycar part: image[, camera] -> (the seen frame, its picture), for every part of the monitor and for the pilot.

    camera: the picture before a fault was put into it; injected noise must not hide that the camera stands still.
    A sequence begins at the first frame, after a gap of over `gap_s`, and after a tick that cannot be used, as in a tub.
    """

    def __init__(
        self,
        gap_s: float = MAX_GAP_S,
        frozen_s: float = FROZEN_S,
        tick_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """tick_s: seconds that each tick stands for, in a simulation that does not follow the clock."""
        self._gap_s, self._frozen_s, self._tick_s, self._clock = gap_s, frozen_s, tick_s, clock
        self.shutdown()

    def shutdown(self) -> None:
        """Nothing of this drive goes into the next."""
        self._ticks = self._number = 0
        self._not_counted_s = 0.0
        self._seen, self._camera = Still(), Still()
        self._frame_s = math.nan  # when a usable frame came
        self._complained = ""

    def reset(self) -> None:
        """The next frame begins a sequence: a command could not be used, or the car was put somewhere else."""
        self._number = 0

    def now(self) -> float:
        """The drive's time in seconds."""
        return self._clock() - self._not_counted_s

    def leave_out(self, seconds: float) -> None:
        """Spent on scoring in the loop: our own slowness is no gap between frames."""
        self._not_counted_s += seconds

    def run(self, image: Any, camera: Any = None) -> tuple[SeenFrame, np.ndarray | None]:
        """Never raises."""
        seen = self.see(image, camera)
        return seen, seen.image

    def see(self, image: Any, camera: Any = None) -> SeenFrame:
        """The next tick's frame. One that an intake before has seen already is handed on. Never raises."""
        if isinstance(image, SeenFrame):
            return image
        self._ticks += 1
        now = self.now()
        passed = now if self._tick_s is None else self._tick_s * self._ticks
        pixels, trouble = self._pixels(image)
        given = pixels if camera is None or camera is image else self._pixels(camera)[0]
        still_s = max(self._seen.seconds(passed, pixels), self._camera.seconds(passed, given))
        state = states.FROZEN if still_s >= self._frozen_s else trouble  # by the clock, whatever the rate of the loop
        if pixels is None or breaks_sequence(passed - self._frame_s, self._gap_s):
            self.reset()
        seen = SeenFrame(now, pixels, self._number, state)
        if pixels is not None:
            self._number, self._frame_s = self._number + 1, passed
        return seen

    def _pixels(self, image: Any) -> tuple[np.ndarray | None, str]:
        if image is None:
            return None, states.NO_IMAGE
        try:
            return to_model_image(as_recorded(image)), ""
        except Exception as error:  # whatever a camera hands out, it must not end the drive
            if str(error) != self._complained:  # once: it is true of every frame that follows
                self._complained = str(error)
                logger.error("the monitor cannot use a frame: %s", error)
            return None, states.BAD_IMAGE


class Forgetful(Protocol):
    """A part whose next frame may be the first of a new sequence."""

    def reset(self) -> None: ...


class SequenceStart:
    """Donkeycar part, after the scorer: a hit is the last frame of its sequence, in the tub as well."""

    def __init__(self, *parts: Forgetful) -> None:
        self._parts = parts

    def run(self, hit: bool | None) -> None:
        """The next frame starts a new sequence if the car has hit the wall."""
        if hit:
            for part in self._parts:
                part.reset()
