"""The scorer's work without its thread: frames in order in, normalised scores and a state out."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from donkey_aicc.calibration.alarm_signs import SignStream, slow_signs
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.runtime import Runtime
from donkey_aicc.nets.shapes import LATENT_CHANNELS
from donkey_aicc.parts import states
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.stream import FrameScores, StreamScorer

MAXIMAL = 1.0  # what an unknown score counts as: the scores are clipped to [0, 1]
ROLLOUTS_TILL_STALE = 5  # so many missing in a row


@dataclass(frozen=True)
class Frame:
    """What the car saw and did in one tick. image: (64, 64, 3) uint8."""

    time_s: float
    image: np.ndarray
    steering: float
    throttle: float
    starts_sequence: bool = False


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


class MonitorStream:
    """One car's frames -> scores. Starts a new sequence after a gap of over `gap_s`, as the tub reader does."""

    def __init__(
        self,
        runtime: Runtime,
        statistics: ScoreStatistics | None,
        settings: ScoreSettings,
        *,
        gap_s: float,
        frozen_frames: int,
        reaction: np.ndarray | None = None,
        pause: Callable[[], None] | None = None,
    ) -> None:
        self._signs = SignStream(1, reaction)
        self._stream = StreamScorer(runtime, settings, pause=pause)
        self._statistics = statistics
        if statistics is not None:
            _check_statistics(statistics)
        self._max_rollout_age = ROLLOUTS_TILL_STALE * settings.rollout_every
        self._gap_s, self._frozen_frames = gap_s, frozen_frames
        self._start_sequence()

    def _start_sequence(self) -> None:
        self._stream.reset()
        self._signs.reset()
        self._last: Frame | None = None
        self._repeats = 0

    def begins_sequence(self, frame: Frame) -> bool:
        """Whether this frame is the first of a new sequence."""
        return self._last is None or frame.starts_sequence or frame.time_s - self._last.time_s > self._gap_s

    def take(self, frame: Frame) -> Scored:
        """Score the next frame."""
        if self.begins_sequence(frame):
            self._start_sequence()
        repeated = self._last is not None and np.array_equal(frame.image, self._last.image)
        self._repeats = self._repeats + 1 if repeated else 0
        found = self._stream.step(frame.image[None], np.array([[frame.steering, frame.throttle]]))
        self._last = frame
        if self._statistics is None:
            return Scored(frame.time_s, states.NO_STATISTICS)
        scores = self._statistics.frame_scores(float(found.rho_raw[0]), found.features[0], found.latent[0])
        known = {name: value for name, value in scores.items() if np.isfinite(value)}
        finite = bool(found.valid[0]) and len(known) == len(scores)
        state = self._state(found.warmed_up, found.rollout_age_frames, finite)
        error = self._stream.squared_error
        return Scored(
            frame.time_s,
            state,
            known.get("rho", MAXIMAL),
            known.get("delta", MAXIMAL),
            known,
            self._signs_of(found, frame),
            self._statistics.dynamics.standardised(found.features[0]),
            None if error is None else error[0],
        )

    def _signs_of(self, found: FrameScores, frame: Frame) -> list[float | None]:
        assert self._statistics is not None
        slow = slow_signs(self._statistics, found.rho_raw, found.features, found.latent)
        slow[~found.valid] = np.nan
        signs = self._signs.update(found.frame_stats, np.array([[frame.steering, frame.throttle]]), slow)[0]
        return [value if np.isfinite(value) else None for value in signs.tolist()]

    def _state(self, warmed_up: bool, rollout_age_frames: int, finite: bool) -> str:
        if self._repeats >= self._frozen_frames:
            return states.FROZEN
        if not warmed_up:
            return states.WARMING_UP
        if not finite:
            return states.NOT_FINITE
        return states.OK if rollout_age_frames <= self._max_rollout_age else states.STALE


def _check_statistics(statistics: ScoreStatistics) -> None:
    """Statistics of another version would fail at the first frame; here they fail before the drive."""
    try:
        statistics.frame_scores(1.0, np.zeros(len(FEATURE_NAMES)), np.zeros(LATENT_CHANNELS))
    except ValueError as error:
        raise AiccError(
            f"the calibrator's statistics do not fit this version ({error}); run donkey-aicc calibrate again"
        ) from error
