"""WorldModelScorer: rho and delta of every frame, computed beside the drive loop."""

import contextlib
import logging
import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from donkey_aicc.alarm.signs import SignSettings
from donkey_aicc.limits import drive_command
from donkey_aicc.parts import states
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.monitor_stream import MAXIMAL, Backlog, Counts, Frame, MonitorStream, Scored, frame_of
from donkey_aicc.parts.right_of_way import RightOfWay, give_way
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.statistics import ScoreStatistics

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

logger = logging.getLogger(__name__)

START_GRACE_S = 2.0  # Vehicle starts our thread before its loop; much later nobody will
RESTART_EVERY_S = 1.0  # a thread that dies at once must not be started in every tick
HANG_S = 10.0  # frames wait and the thread shows no sign of life

Output = tuple[float, float, float, bool, str, dict[str, float]]


class _Ended(Exception):
    """The thread's work is not wanted any more."""


class WorldModelScorer:
    """Donkeycar part: (image, steering, throttle) -> (rho, delta, age in s, valid[, state, all scores]).

    Give it the commands that were sent in the same tick as the tub records them, so that a replay gives the same scores.
    With threaded=True its own thread scores; where that is too slow it jumps to the newest frame (`Backlog`), `slow` says so, and
    after a while it goes on at the next of the `lower` grades. With threaded=False the loop scores, for simulations.
    A score that is not known counts as 1, the maximum, and is never valid.

    Args:
        bundle: a loaded `Bundle`.
        statistics: of the calibrator: what is nominal, so that scores are from 0 to 1. None: the state is `no statistics`.
        settings: of the calibrator (`calibrator.settings`).
        lower: settings and statistics of lower grades that it may go down to where the computer is too slow.
        intake: the one that the monitor's parts share; without one it looks for itself where a sequence begins.
        right_of_way: shared with `TTA`, which goes first.
        signs: of the alarm; they come with the result for it.
        make_stream: makes what scores the frames, for tests.

    Example:
        >>> from donkey_aicc import Bundle, WorldModelScorer, load_calibrator
        >>> bundle = Bundle.load("reference")
        >>> calibrator = load_calibrator(bundle, "light")
        >>> scorer = WorldModelScorer(bundle, calibrator.statistics, calibrator.settings)
        >>> rho, delta, age_s, valid, state, scores = scorer.run(np.zeros((120, 160, 3), dtype=np.uint8), 0.0, 0.3)
        >>> valid, state  # it wants 100 frames of context
        (False, 'warming up')
    """

    def __init__(
        self,
        bundle: "Bundle",
        statistics: ScoreStatistics | None,
        settings: ScoreSettings,
        *,
        lower: Sequence[tuple[ScoreSettings, ScoreStatistics | None]] = (),
        intake: FrameIntake | None = None,
        right_of_way: RightOfWay | None = None,
        signs: SignSettings | None = None,
        make_stream: Callable[..., Any] | None = None,
    ) -> None:
        self._grades = [(settings, statistics), *lower]

        def stream(pause: Callable[[], None] | None = None) -> MonitorStream:
            now_settings, now_statistics = self._grades[0]
            return MonitorStream(bundle, now_statistics, now_settings, signs=signs, pause=pause)

        self._make_stream = make_stream or stream
        self.intake = intake or FrameIntake()
        self._right_of_way = right_of_way
        self._make_stream()  # a bundle that cannot be scored shows itself here
        self._ready = threading.Condition()
        self.counts = Counts()
        self._forget()

    def _forget(self) -> None:
        """As before the first tick of a drive."""
        self._queue = Backlog()
        self._slow = ""
        self._told_slow = False
        self.grade = self._grades[0][0].grade  # of the scores that were handed out last: whoever reads them goes by it
        self._result: Scored | None = None
        self._stream: MonitorStream | None = None  # of the unthreaded mode
        self._owner: object | None = None  # the one update() that may publish
        self._worker: threading.Thread | None = None
        self._began_s: float | None = None
        self._beat_s = self._restarted_s = -math.inf
        self._problem = ""  # with the newest frame
        self.sent_throttle = 0.0  # in the newest tick

    @property
    def newest(self) -> Scored | None:
        """What was found last, with its details, for whoever wants to show it."""
        return self._result

    @property
    def slow(self) -> str:
        """What to tell a person while the computer does not keep up; else empty."""
        return self._slow

    def reset(self) -> None:
        """The next frame starts a new sequence: call it when the car was put somewhere else."""
        self.intake.reset()

    def run_threaded(self, image: Any = None, steering: Any = None, throttle: Any = None) -> Output:
        """Hand over this tick's frame, return the newest scores. Never raises."""
        now, frame, state = self._begin(image, steering, throttle)
        if frame is not None:
            with self._ready:
                self._queue.add(frame)
                self._ready.notify()
        self._problem = state or self._watch_thread(now)
        return self._published(now)

    def run(self, image: Any = None, steering: Any = None, throttle: Any = None) -> Output:
        """Score this tick's frame here and now. Never raises."""
        now, frame, state = self._begin(image, steering, throttle)
        if frame is not None:
            started = self.intake.now()
            try:
                self._stream = self._stream or self._make_stream()
                self._result = self._stream.take(frame)
                self.counts.frames_scored += 1
            except Exception:  # an exception here would stop the car
                logger.exception("scoring failed; it starts again with the next frame")
                self._stream, self._result, state = None, None, states.SCORER_DOWN
                self.counts.restarts += 1
            self.intake.leave_out(self.intake.now() - started)
        self._problem = state
        return self._published(now)

    def read(self) -> Output:
        """The newest scores and how old they are by now, for whoever decides before this part runs. Never raises."""
        return self._published(self.intake.now())

    def _begin(self, image: Any, steering: Any, throttle: Any) -> tuple[float, Frame | None, str]:
        """Now, what to score and the state to tell. A tub is cut where no command can be used: a sequence ends."""
        seen = self.intake.see(image)
        if self._began_s is None:
            self._began_s = seen.time_s
            self.counts = Counts()
        self.sent_throttle = drive_command(throttle)
        frame, state = frame_of(seen, steering, throttle)
        if frame is None:
            self.intake.reset()
        return seen.time_s, frame, state

    def _published(self, now: float) -> Output:
        found, problem = self._result, self._problem
        if found is None:  # age: how long this drive has been without any score
            return MAXIMAL, MAXIMAL, now - (self._began_s or now), False, problem or states.WARMING_UP, {}
        state, self.grade = problem or found.state, found.grade
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
                logger.error("the scorer's thread died; starting another one")
                self._worker = threading.Thread(target=self.update, name="aicc-scorer", daemon=True)
                self._worker.start()
        restarting = missing or (self._result is None and self._restarted_s > -math.inf)  # in this tick too, however fast it is
        return states.SCORER_DOWN if restarting else ""

    def update(self) -> None:
        """Score what comes in until shutdown, or until another thread has taken over."""
        give_way()
        mine = object()
        with self._ready:
            self._owner, self._worker, self._beat_s = mine, threading.current_thread(), self.intake.now()
        stream = self._make_stream(lambda: self._between_steps(mine))
        with contextlib.suppress(_Ended):
            while self._owner is mine:
                work = self._next_work()
                if work is not None:
                    self._score(mine, stream, *work)

    def _between_steps(self, mine: object) -> None:
        """A rollout lasts long: end it when the drive ends, and let the drive loop go first."""
        if self._owner is not mine:
            raise _Ended
        if self._right_of_way is not None:
            self._right_of_way.give()

    def _next_work(self) -> tuple[Frame, tuple[Frame, ...]] | None:
        with self._ready:
            self._beat_s = self.intake.now()
            if not self._queue:
                self._ready.wait(timeout=0.1)
            return self._queue.take()

    def _score(self, mine: object, stream: MonitorStream, frame: Frame, unseen: tuple[Frame, ...]) -> None:
        result = stream.take(frame, unseen)
        with self._ready:
            if self._owner is not mine:  # after a shutdown, or taken for dead
                return
            self._result = result
            self.counts.frames_scored += 1
            self.counts.frames_skipped = self._queue.frames_skipped
            self._queue.note_scored(now := self.intake.now())
            self._slow = self._queue.slow()
            if self._queue.should_step_down(now):
                self._step_down(stream)

    def _step_down(self, stream: MonitorStream) -> None:
        """The scores of the next frame are of the new grade, and say so."""
        if len(self._grades) == 1:
            if not self._told_slow:  # once: nothing changes by itself
                kept = self._grades[0][0].grade
                logger.warning("%s; it stays at grade %s: there is no lower one to go to", self._slow, kept)
            self._told_slow = True
            return
        self._grades.pop(0)
        stream.step_down(*self._grades[0])
        logger.warning("%s; going on at grade %s", self._slow, self._grades[0][0].grade)

    def shutdown(self) -> None:
        """End the thread; nothing of this drive goes into the next."""
        with self._ready:
            worker, self._owner = self._worker, None
            self._ready.notify_all()
        if worker is not None and worker is not threading.current_thread():
            worker.join(timeout=5.0)
        logger.info("scorer: %s", self.counts)
        self.intake.shutdown()
        self._forget()
