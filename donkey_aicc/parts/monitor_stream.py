"""The scorer's work without its thread: frames in order in, normalised scores and a state out.

The backlog holds the frames that wait for it, and knows what a computer does that is too slow for all of them.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from donkey_aicc.alarm.signs import SignSettings, SignStream, slow_signs
from donkey_aicc.errors import AiccError
from donkey_aicc.limits import drive_command
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.preprocess import LATENT_CHANNELS
from donkey_aicc.parts import states
from donkey_aicc.parts.frame_intake import SeenFrame
from donkey_aicc.scoring.restored_view import Check
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.settings import FULL, ScoreSettings
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.scoring.stream import FrameScores, StreamScorer

MAXIMAL = 1.0  # what an unknown score counts as: the scores are clipped to [0, 1]
ROLLOUTS_TILL_STALE = 5  # so many missing in a row


@dataclass(frozen=True)
class Frame:
    """What the car saw and did in one tick. image: (64, 64, 3) uint8. Number 0 begins a sequence."""

    time_s: float
    image: np.ndarray
    steering: float
    throttle: float
    number: int

    @property
    def starts_sequence(self) -> bool:
        return self.number == 0

    @property
    def command(self) -> np.ndarray:
        """(1, 2)."""
        return np.array([[self.steering, self.throttle]])


def frame_of(seen: SeenFrame, steering: Any, throttle: Any) -> tuple[Frame | None, str]:
    """The frame to score, None where picture or command cannot be used, and the state to tell. Commands as tubs are read."""
    if steering is None or throttle is None:
        return None, seen.state or states.NO_COMMAND
    try:
        command = float(steering), float(throttle)
    except (TypeError, ValueError, OverflowError):
        command = math.nan, math.nan
    if seen.image is None or not all(math.isfinite(value) for value in command):
        return None, seen.state or states.NOT_FINITE
    return Frame(seen.time_s, seen.image, drive_command(command[0]), drive_command(command[1]), seen.number), seen.state


@dataclass(frozen=True)
class Scored:
    """Scores after one frame; `time_s` is when that frame was taken."""

    time_s: float
    state: str
    rho: float = MAXIMAL
    delta: float = MAXIMAL
    scores: dict[str, float] = field(default_factory=dict)
    signs: list[float | None] | None = None  # of the alarm, in the order of SIGNS; None unknown
    features: np.ndarray | None = None  # (12,) in nominal standard deviations
    squared_error: np.ndarray | None = None  # (3, 64, 64): where the frame could not be rebuilt
    grade: str = FULL  # of the scores
    began_s: float = math.nan  # when the first frame of its sequence was taken
    checks: tuple[Check, ...] = ()  # from when on how much of the restored view counts


class MonitorStream:
    """One car's frames -> scores. Which frame begins a sequence is decided by whoever makes the frames."""

    def __init__(
        self,
        bundle: Bundle,
        statistics: ScoreStatistics | None,
        settings: ScoreSettings,
        *,
        signs: SignSettings | None = None,
        pause: Callable[[], None] | None = None,
    ) -> None:
        self._signs = SignStream(1, signs)
        self._stream = StreamScorer(bundle, settings, pause=pause)
        self._statistics = statistics
        if statistics is not None:
            _check_statistics(statistics)
        self._settings = settings
        self._start_sequence()

    def _start_sequence(self, began_s: float = math.nan) -> None:
        self._began_s = began_s
        self._stream.reset()
        self._signs.reset()

    def step_down(self, settings: ScoreSettings, statistics: ScoreStatistics | None) -> None:
        """Go on at a lower grade; what was seen so far still counts."""
        self._stream.step_down(settings)
        self._statistics, self._settings = statistics, settings

    def take(self, frame: Frame, unseen: Sequence[Frame] = ()) -> Scored:
        """Score the next frame. unseen: the ones between the last and this, of which only the commands count."""
        starts = [each.time_s for each in (*unseen, frame) if each.starts_sequence]
        if starts:
            self._start_sequence(starts[-1])
        found = self._stream.step(frame.image[None], frame.command, [each.command for each in unseen])
        if self._statistics is None:
            return Scored(frame.time_s, states.NO_STATISTICS, grade=self._settings.grade, began_s=self._began_s)
        own = self._own(found)
        scores = self._statistics.frame_scores(float(found.rho_raw[0]), found.features[0], found.latent[0], own=own)
        known = {name: value for name, value in scores.items() if np.isfinite(value)}
        finite = bool(found.valid[0]) and len(known) == len(scores)
        state = self._state(found.warmed_up, found.rollout_age_frames, finite)
        if not np.isfinite(found.frame_error[0]):  # also while warming up: nothing of this frame is known
            state = states.NOT_FINITE
        error = self._stream.squared_error
        return Scored(
            frame.time_s,
            state,
            known.get("rho", MAXIMAL),
            known.get("delta", MAXIMAL),
            known,
            self._signs_of(found, frame, unseen),
            self._statistics.dynamics.standardised(found.features[0]),
            None if error is None else error[0],
            self._settings.grade,
            self._began_s,
            self._stream.checks,
        )

    def _signs_of(self, found: FrameScores, frame: Frame, unseen: Sequence[Frame]) -> list[float | None]:
        assert self._statistics is not None
        slow = slow_signs(self._statistics, found.rho_raw, found.features, found.latent, self._own(found))
        slow[~found.valid] = np.nan
        signs = self._signs.update(found.frame_stats, frame.command, slow, [each.command for each in unseen])[0]
        return [value if np.isfinite(value) else None for value in signs.tolist()]

    def _own(self, found: FrameScores) -> dict[str, np.ndarray]:
        return dict(zip(self._settings.own, found.own.T, strict=True))

    def _state(self, warmed_up: bool, rollout_age_frames: int, finite: bool) -> str:
        if not warmed_up:
            return states.WARMING_UP
        if not finite:
            return states.NOT_FINITE
        stale = rollout_age_frames > ROLLOUTS_TILL_STALE * self._settings.rollout_every
        return states.STALE if stale else states.OK


def _check_statistics(statistics: ScoreStatistics) -> None:
    """Statistics of another version would fail at the first frame; here they fail before the drive."""
    try:
        statistics.frame_scores(1.0, np.zeros(len(FEATURE_NAMES)), np.zeros(LATENT_CHANNELS))
    except ValueError as error:
        raise AiccError(
            f"the calibrator's statistics do not fit this version ({error}); run donkey-aicc calibrate again"
        ) from error


@dataclass
class Counts:
    """What happened in this drive."""

    frames_scored: int = 0
    frames_skipped: int = 0  # not looked at, because newer ones waited
    restarts: int = 0


MOST_WAITING = 3  # more than that, and the scorer jumps to the newest: stale scores are useless
WINDOW_S = 3.0  # over which frames are counted
KEEPS_UP = 0.9  # scored share of the frames from which on nobody need know
STEP_DOWN_AFTER_S = 4.0  # too slow for so long: the next lower grade


class Backlog:
    """Frames in order of time. Those that are jumped over are handed out too: their commands count, their pictures do not."""

    def __init__(self) -> None:
        self._waiting: deque[Frame] = deque()
        self._came: deque[float] = deque()
        self._scored: deque[float] = deque()
        self._slow_since: float | None = None
        self.frames_skipped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, frame: Frame) -> None:
        """The newest frame of the camera."""
        self._waiting.append(frame)
        self._came.append(frame.time_s)

    def take(self) -> tuple[Frame, tuple[Frame, ...]] | None:
        """The frame to score next and the ones before it that will not be looked at; None if none waits.

        A frame that starts a sequence ends the one before: what waits of that is forgotten.
        """
        if not self._waiting:
            return None
        if len(self._waiting) <= MOST_WAITING:
            return self._waiting.popleft(), ()
        everything = tuple(self._waiting)
        self._waiting.clear()
        starts = [number for number, frame in enumerate(everything) if frame.starts_sequence]
        skipped = everything[starts[-1] if starts else 0 : -1]
        self.frames_skipped += len(everything) - 1
        return everything[-1], skipped

    def note_scored(self, now: float) -> None:
        """A frame is done."""
        self._scored.append(now)
        for times in (self._came, self._scored):
            while times and times[0] <= now - WINDOW_S:
                times.popleft()
        if not self.slow():
            self._slow_since = None
        elif self._slow_since is None:
            self._slow_since = now

    def slow(self) -> str:
        """What to tell a person while fewer frames are scored than come; empty while it keeps up or nobody knows yet."""
        span_s = self._came[-1] - self._came[0] if self._came else 0.0
        if span_s < 0.8 * WINDOW_S:
            return ""
        came_hz, scored_hz = (len(self._came) - 1) / span_s, len(self._scored) / WINDOW_S
        if scored_hz >= KEEPS_UP * came_hz:
            return ""
        return f"computer too slow: scoring {scored_hz:.0f} of {came_hz:.0f} frames a second"

    def should_step_down(self, now: float) -> bool:
        """True once after it has been too slow for a while; then the clock starts again."""
        if self._slow_since is None or now - self._slow_since < STEP_DOWN_AFTER_S:
            return False
        self._slow_since = None
        return True
