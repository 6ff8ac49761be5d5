"""WorldModelScorer: rho and delta of every frame, computed beside the drive loop."""

import contextlib
import logging
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.preprocess import to_model_image
from donkey_aicc.nets.runtime import Runtime, runtime_of
from donkey_aicc.parts import states
from donkey_aicc.parts.monitor_stream import MAXIMAL, Frame, MonitorStream, Scored
from donkey_aicc.parts.right_of_way import RightOfWay
from donkey_aicc.scoring.settings import MAX_GAP_S, ScoreSettings

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

logger = logging.getLogger(__name__)

QUEUE_FRAMES = 40
NICENESS = 5  # of the thread; more, and it would sit on Python's lock while others use its core
START_GRACE_S = 2.0  # Vehicle starts our thread before its loop; much later nobody will
RESTART_EVERY_S = 1.0  # a thread that dies at once must not be started in every tick
HANG_S = 10.0  # frames wait and the thread shows no sign of life

Output = tuple[float, float, float, bool, str, dict[str, float]]


@dataclass
class Counts:
    """What happened in this drive."""

    frames_scored: int = 0
    frames_dropped: int = 0
    restarts: int = 0


class _Ended(Exception):
    """The thread's work is not wanted any more."""


class WorldModelScorer:
    """Donkeycar part: (image, steering, throttle) -> (rho, delta, age in s, valid[, state, all scores]).

    Give it the commands that were sent in the same tick as the tub records them, so that a replay gives the same scores.
    Added with threaded=True it hands every frame to its own thread and returns the newest result; frames wait in a
    bounded queue; when it is full, every second frame is dropped.
    Added with threaded=False it scores in the loop itself: for simulations that run faster than the clock.
    A score that is not known counts as 1, the maximum, and is never valid.
    """

    def __init__(
        self,
        nets: "Runtime | Bundle",
        statistics: ScoreStatistics | None,
        settings: ScoreSettings,
        *,
        threads: int = 1,
        queue_frames: int = QUEUE_FRAMES,
        gap_s: float = MAX_GAP_S,
        frozen_frames: int = 10,
        right_of_way: RightOfWay | None = None,
        reaction: np.ndarray | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, value in (("threads", threads), ("queue_frames", queue_frames), ("frozen_frames", frozen_frames)):
            if value < 1:
                raise ConfigError(f"{name} must be >= 1, got {value}")
        runtime = runtime_of(nets)
        self._make_stream: Callable[..., MonitorStream] = lambda pause=None: MonitorStream(
            runtime,
            statistics,
            settings,
            gap_s=gap_s,
            frozen_frames=frozen_frames,
            reaction=reaction,
            pause=pause,
        )
        self._right_of_way = right_of_way
        self._make_stream()  # a bundle that cannot be scored shows itself here
        self.threads = threads
        self._queue_frames = queue_frames
        self._clock = clock
        self._ready = threading.Condition()
        self._complained = ""
        self.counts = Counts()
        self._forget()

    def _forget(self) -> None:
        """As before the first tick of a drive."""
        self._queue: deque[Frame] = deque()
        self._result: Scored | None = None
        self._stream: MonitorStream | None = None  # of the unthreaded mode
        self._owner: object | None = None  # the one update() that may publish
        self._worker: threading.Thread | None = None
        self._began_s: float | None = None
        self._beat_s = self._restarted_s = -math.inf
        self._new_sequence = False
        self._problem = ""  # with the newest frame
        self._own_s = 0.0  # spent on scoring in the loop: our own slowness is no gap between frames

    @property
    def newest(self) -> Scored | None:
        """What was found last, with its details, for whoever wants to show it."""
        return self._result

    def reset(self) -> None:
        """The next frame starts a new sequence: call it when the car was put somewhere else."""
        self._new_sequence = True

    # --- in the drive loop

    def run_threaded(self, image: Any = None, steering: Any = None, throttle: Any = None) -> Output:
        """Hand over this tick's frame, return the newest scores. Never raises."""
        now = self._begin()
        frame, state = self._next_frame_of(now, image, steering, throttle)
        if frame is not None:
            self._enqueue(frame)
        self._problem = state or self._watch_thread(now)
        return self._published(now)

    def run(self, image: Any = None, steering: Any = None, throttle: Any = None) -> Output:
        """Score this tick's frame here and now. Never raises."""
        now = self._begin()
        frame, state = self._next_frame_of(now, image, steering, throttle)
        if frame is not None:
            started = self._clock()
            try:
                self._stream = self._stream or self._make_stream()
                self._result = self._stream.take(frame)
                self.counts.frames_scored += 1
            except Exception:  # an exception here would stop the car
                logger.exception("scoring failed; it starts again with the next frame")
                self._stream, self._result, state = None, None, states.SCORER_DOWN
                self.counts.restarts += 1
            self._own_s += self._clock() - started
        self._problem = state
        return self._published(now)

    def read(self) -> Output:
        """The newest scores and how old they are by now, for whoever decides before this part runs. Never raises."""
        return self._published(self._clock() - self._own_s)

    def _begin(self) -> float:
        now = self._clock() - self._own_s
        if self._began_s is None:
            self._began_s = now
            self.counts = Counts()
        return now

    def _next_frame_of(self, now: float, image: Any, steering: Any, throttle: Any) -> tuple[Frame | None, str]:
        frame, state = self._frame_of(now, image, steering, throttle)
        if frame is None:  # a replayed tub is cut at such a record too
            self._new_sequence = True
        elif self._new_sequence:
            frame, self._new_sequence = replace(frame, starts_sequence=True), False
        return frame, state

    def _frame_of(self, now: float, image: Any, steering: Any, throttle: Any) -> tuple[Frame | None, str]:
        if image is None:
            return None, states.NO_IMAGE
        if steering is None or throttle is None:
            return None, states.NO_COMMAND
        try:
            command = float(steering), float(throttle)
            pixels = to_model_image(image)
        except (AiccError, TypeError, ValueError) as error:
            if str(error) != self._complained:
                self._complained = str(error)
                logger.error("a frame cannot be scored: %s", error)
            return None, states.BAD_IMAGE
        if not all(math.isfinite(value) for value in command):
            return None, states.NOT_FINITE
        steering, throttle = (min(max(value, -1.0), 1.0) for value in command)
        return Frame(now, pixels, steering, throttle), ""

    def _enqueue(self, frame: Frame) -> None:
        with self._ready:
            self._queue.append(frame)
            if len(self._queue) > self._queue_frames:
                self._thin_out()
            self._ready.notify()

    def _thin_out(self) -> None:
        """Drop every second frame that waits: a hole of half a second would start a new sequence, and with it a new warm-up."""
        kept: deque[Frame] = deque()
        starts = False
        for number, frame in enumerate(self._queue):
            starts = starts or frame.starts_sequence
            if number % 2 == 1 or number == len(self._queue) - 1:
                kept.append(replace(frame, starts_sequence=starts))
                starts = False
        self.counts.frames_dropped += len(self._queue) - len(kept)
        self._queue = kept

    def _published(self, now: float) -> Output:
        found, problem = self._result, self._problem
        if found is None:  # age: how long this drive has been without any score
            return MAXIMAL, MAXIMAL, now - (self._began_s or now), False, problem or states.WARMING_UP, {}
        state = problem or found.state
        return found.rho, found.delta, max(0.0, now - found.time_s), state == states.OK, state, dict(found.scores)

    def _watch_thread(self, now: float) -> str:
        """Vehicle does not notice a dead thread, so we do: start another one, and say so until it has scored a frame."""
        worker = self._worker
        if worker is None:
            missing = now - (self._began_s or now) > START_GRACE_S
        else:
            missing = not worker.is_alive() or (bool(self._queue) and now - self._beat_s > HANG_S)
        if missing:
            self._result = None
            if now - self._restarted_s >= RESTART_EVERY_S:
                self._restarted_s = self._beat_s = now
                self.counts.restarts += 1
                logger.error("the scorer's thread is gone; starting another one")
                self._worker = threading.Thread(target=self.update, name="aicc-scorer", daemon=True)
                self._worker.start()
        restarting = self._result is None and self._restarted_s > -math.inf
        return states.SCORER_DOWN if restarting else ""

    # --- in the scorer's own thread

    def update(self) -> None:
        """Score what comes in until shutdown, or until another thread has taken over."""
        import torch

        # set_num_threads acts on the calling thread only, but a thread's first torch call would put the process-wide
        # value back; so that call comes first.
        torch.get_num_threads()
        torch.set_num_threads(self.threads)
        _give_way()
        mine = object()
        with self._ready:
            self._owner, self._worker, self._beat_s = mine, threading.current_thread(), self._clock()
        stream = self._make_stream(lambda: self._between_steps(mine))
        with contextlib.suppress(_Ended):
            while self._owner is mine:
                frame = self._next_frame()
                if frame is not None:
                    self._score(mine, stream, frame)

    def _between_steps(self, mine: object) -> None:
        """A rollout lasts long: end it when the drive ends, and let the drive loop go first."""
        if self._owner is not mine:
            raise _Ended
        if self._right_of_way is not None:
            self._right_of_way.give()

    def _next_frame(self) -> Frame | None:
        with self._ready:
            self._beat_s = self._clock()
            if not self._queue:
                self._ready.wait(timeout=0.1)
            return self._queue.popleft() if self._queue else None

    def _score(self, mine: object, stream: MonitorStream, frame: Frame) -> None:
        result = stream.take(frame)
        with self._ready:
            if self._owner is mine:  # not after a shutdown, nor when taken for dead
                self._result = result
                self.counts.frames_scored += 1

    def shutdown(self) -> None:
        """End the thread; nothing of this drive goes into the next."""
        with self._ready:
            worker, self._owner = self._worker, None
            self._ready.notify_all()
        if worker is not None and worker is not threading.current_thread():
            worker.join(timeout=5.0)
        logger.info("scorer: %s", self.counts)
        self._forget()


def _give_way() -> None:
    """The calling thread yields to the drive loop where both want the same core. Only Linux has niceness per thread."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
