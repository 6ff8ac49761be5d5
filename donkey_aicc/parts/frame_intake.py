"""FrameIntake: this tick's camera frame as the nets see it, and whether it begins a sequence; decided here, once a tick."""

import hashlib
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from donkey_aicc.alarm.timing import FROZEN_S, MEMORY_S
from donkey_aicc.limits import MAX_GAP_S
from donkey_aicc.nets.preprocess import as_recorded, to_model_image
from donkey_aicc.parts import states
from donkey_aicc.tubs.near_duplicates import NEAR_DUPLICATE, coarse_squares
from donkey_aicc.tubs.timeline import breaks_sequence

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SeenFrame:
    """One tick's picture. Number 0 begins a sequence. Times are the drive's seconds; NaN: never."""

    time_s: float
    image: np.ndarray | None  # (64, 64, 3) uint8, the one before where this tick's is lost; None: there is none to go on with
    number: int  # in its sequence
    state: str = ""  # what to tell a person; empty if all is well
    trouble: str = ""  # why this tick's own picture cannot be used
    usable_s: float = math.nan  # of the newest picture that can be used
    fresh_s: float = math.nan  # of the newest whose bytes the second before did not have
    new_s: float = math.nan  # of the newest that differed from that second by more than noise


class PictureMemory:
    """When a camera last gave another picture than those of the second before: other bytes, and more than noise."""

    def __init__(self) -> None:
        self._bytes: dict[bytes, float] = {}  # when each was last seen
        self._looks = np.empty((0, 0), dtype=np.float32)
        self._looked_s = np.empty(0)
        self.fresh_s = self.new_s = math.nan

    def look(self, now: float, image: np.ndarray) -> None:
        """The next picture. What is seen again stays remembered: a camera may go through a few old ones for ever."""
        digest = hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=8).digest()
        self._bytes = {each: seen for each, seen in self._bytes.items() if now - seen <= MEMORY_S}
        if digest not in self._bytes:
            self.fresh_s = now
        self._bytes[digest] = now
        look, known = coarse_squares(image[None])[0], now - self._looked_s <= MEMORY_S
        self._looks, self._looked_s = self._looks[known], self._looked_s[known]
        alike = np.square(self._looks - look).mean(axis=1) <= NEAR_DUPLICATE**2 if len(self._looks) else np.zeros(0, dtype=bool)
        if alike.any():
            self._looked_s[alike] = now
        else:
            self.new_s = now
            self._looks = np.vstack([self._looks.reshape(-1, len(look)), look])
            self._looked_s = np.append(self._looked_s, now)


class FrameIntake:
    """Donkeycar part: image[, camera] -> (the seen frame, its picture), for every part of the monitor and for the pilot.

    camera: the picture before a fault was put into it; injected noise must not hide that the camera stands still.
    A picture that is lost or cannot be used is a gap: the one before stands for it, as in a tub. A sequence begins at the first
    frame and after a gap of over `gap_s`.
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
        self.reset()
        self._ticks, self._not_counted_s = 0, 0.0
        self._seen, self._camera = PictureMemory(), PictureMemory()
        self._frame_s = self._began_s = math.nan  # when a usable picture came; the first tick
        self._complained = ""

    def reset(self) -> None:
        """The next frame begins a sequence: a command could not be used, or the car was put somewhere else."""
        self._number = 0
        self._held: np.ndarray | None = None

    def now(self) -> float:
        """The drive's time in seconds."""
        return self._clock() - self._not_counted_s if self._tick_s is None else self._tick_s * self._ticks

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
        pixels, trouble = self._pixels(image)
        given = pixels if camera is None or camera is image else self._pixels(camera)[0]
        for memory, picture in ((self._seen, pixels), (self._camera, given)):
            if picture is not None:
                memory.look(now, picture)
        if breaks_sequence(now - self._frame_s, self._gap_s):
            self.reset()
        if pixels is not None:
            self._held, self._frame_s = pixels, now
        self._began_s = now if math.isnan(self._began_s) else self._began_s
        fresh_s = float(np.minimum(self._seen.fresh_s, self._camera.fresh_s))
        new_s = float(np.minimum(self._seen.new_s, self._camera.new_s))
        frozen = now - np.fmax(fresh_s, self._began_s) >= self._frozen_s  # by the clock, whatever the rate of the loop
        state = trouble if self._held is None else states.FROZEN if frozen else ""
        seen = SeenFrame(now, self._held, self._number, state, trouble, self._frame_s, fresh_s, new_s)
        self._number += self._held is not None
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
