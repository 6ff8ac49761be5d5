"""One frame and one command in, raw anomaly scores out; the same object serves the car, a replayed tub and a batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.preprocess import IMAGE_SIZE, images_to_array
from donkey_aicc.scoring.control_features import ControlFeatures
from donkey_aicc.scoring.frame_stats import FrameStats
from donkey_aicc.scoring.own_scores import OwnScores
from donkey_aicc.scoring.restored_view import Check, RestorationChecks
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.settings import HALF, ScoreSettings
from donkey_aicc.scoring.world_model_anomaly import ROLLOUT_FEATURES, PerceptionScore, RolloutScore

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle


@dataclass(frozen=True)
class FrameScores:
    """Scores of the newest frame of L lanes. Rollout features are NaN until the first rollout is done; at grade light, 0."""

    rho_raw: np.ndarray  # (L,) mean reconstruction MSE over the context
    features: np.ndarray  # (L, 12) in the order of FEATURE_NAMES
    half_rollout: np.ndarray  # (L, 3) the rollout features that grade half would have; NaN where this is not grade full
    latent: np.ndarray  # (L, 64) pooled latent mean over the context
    frame_error: np.ndarray  # (L,) reconstruction MSE of this frame alone
    frame_stats: np.ndarray  # (L, 8) in the order of FRAME_STATS, of this frame alone
    own: np.ndarray  # (L, O) in the order of ScoreSettings.own
    rollout_age_frames: int  # since the frame that the rollout features belong to; 0 at grade light
    frames_seen: int
    warmed_up: bool  # the context is full and a rollout is done
    valid: np.ndarray  # (L,) bool: warmed up, and every number above is finite

    def named(self, lane: int = 0) -> dict[str, float]:
        """The 12 features of one lane by name."""
        return dict(zip(FEATURE_NAMES, self.features[lane].tolist(), strict=True))


class StreamScorer:
    """Scores L streams that start together, frame by frame.

    All randomness depends on (seed, frame number) only, so a replay repeats the drive's scores. A rollout of
    `rollout_steps` with the last command held starts at every frame whose number is a multiple of `rollout_every`, and is
    spread over the frames from there to the next. `pause` is called between the steps of the work: there a live car lets
    its drive loop go first. A number that is not finite makes its lane invalid until it has left the context; it never stays.
    """

    def __init__(
        self,
        bundle: "Bundle",
        settings: ScoreSettings,
        *,
        lanes: int = 1,
        pause: Callable[[], None] | None = None,
    ) -> None:
        if lanes < 1:
            raise ConfigError(f"lanes must be >= 1, got {lanes}")
        self._bundle = bundle
        self._settings, self._lanes, self._pause = settings, lanes, pause
        self._rollout = RolloutScore(self._bundle, lanes, settings, pause) if settings.looks_ahead else None
        self.reset()

    def reset(self, lanes: int | None = None) -> None:
        """Start new sequences: all lanes forget everything and the next frame is number 0. May change their number."""
        self._lanes = self._lanes if lanes is None else lanes
        self._perception = PerceptionScore(self._bundle, self._lanes, self._settings.context)
        self._control = ControlFeatures(self._lanes, self._settings.context)
        self._frame_stats = FrameStats()
        self._own = OwnScores(self._settings.own, self._lanes)
        restoration = self._settings.restoration
        self._checks = None if restoration is None else RestorationChecks(self._bundle, restoration, self._lanes)
        if self._rollout is not None:
            self._rollout.reset(self._lanes)
        self._frames = 0

    @property
    def squared_error(self) -> np.ndarray | None:
        """(L, 3, 64, 64) of the newest frame: where it could not be rebuilt."""
        return self._perception.squared_error

    @property
    def checks(self) -> tuple[Check, ...]:
        """From when on how much of the restored view counts; empty where nothing is restored."""
        return () if self._checks is None else self._checks.newest

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but those with these numbers, in this order: the sequences of the others have ended."""
        lanes = np.asarray(lanes, dtype=np.int64)
        for part in (self._perception, self._control, self._frame_stats, self._checks, self._rollout, self._own):
            if part is not None:
                part.keep(lanes)
        self._lanes = len(lanes)

    def step_down(self, settings: ScoreSettings) -> None:
        """Go on at a lower grade of the same settings; what was seen so far still counts."""
        if settings.grade == HALF and self._rollout is not None:
            self._rollout = self._rollout.at_half()
        elif not settings.looks_ahead:
            self._rollout = None
        self._settings = settings

    @property
    def lanes(self) -> int:
        """How many streams are going."""
        return self._lanes

    def step(self, images: np.ndarray, actions: np.ndarray, unseen: Sequence[np.ndarray] = ()) -> FrameScores:
        """Take in the next frame of every lane; bad input raises AiccError and leaves the scorer as it was.

        images: (L, 64, 64, 3) uint8, or (L, 3, 64, 64) float in [0, 1]. actions: (L, 2) raw steering and throttle.
        unseen: actions, (L, 2) each, of the frames since the last one that a slow computer had no time to look at. They
        count: the context stays the same stretch of time, and a rollout that fell due among them starts now.
        """
        pixels = self._checked_images(images)
        commands = self._checked_actions(actions)
        missed = [self._checked_actions(each)[:, 0].astype(np.float64) for each in unseen]
        self._give_way()
        rho_raw, pooled, z = self._perception.update(pixels, len(missed))
        if self._checks is not None:
            self._checks.update(pixels, self._perception.last_error, len(missed))
        norm = np.sqrt(np.square(z, dtype=np.float64).sum(axis=(1, 2, 3)))
        control = self._control.update(commands[:, 0].astype(np.float64), norm, missed)
        rollout, own = self._look_ahead(z, commands, len(missed)), self._own.update(pixels, commands)
        self._frames += len(missed) + 1
        features = np.concatenate([rollout, control], axis=1)
        warmed_up = self._frames >= self._settings.context and (self._rollout is None or self._rollout.has_rollout)
        finite = np.isfinite(np.column_stack([rho_raw, features, pooled, own])).all(axis=1)
        return FrameScores(
            rho_raw=rho_raw,
            features=features,
            half_rollout=np.full_like(rollout, np.nan) if self._rollout is None else self._rollout.half_features,
            latent=pooled,
            frame_error=self._perception.last_error,
            frame_stats=self._frame_stats.update(pixels, self._perception.last_error),
            own=own,
            rollout_age_frames=0 if self._rollout is None else self._rollout.age_frames,
            frames_seen=self._frames,
            warmed_up=warmed_up,
            valid=finite & warmed_up,
        )

    def _look_ahead(self, z: np.ndarray, commands: np.ndarray, unseen: int) -> np.ndarray:
        """(L, 3). Grade light does not look ahead: constants, which no distance takes into account."""
        if self._rollout is None:
            return np.zeros((self._lanes, len(ROLLOUT_FEATURES)))
        return self._rollout.update(z, self._bundle.action_stats.normalise(commands), unseen)

    def _give_way(self) -> None:
        if self._pause is not None:
            self._pause()

    def _checked_images(self, images: np.ndarray) -> np.ndarray:
        images = np.asarray(images)
        if images.shape[1:] != (3, IMAGE_SIZE, IMAGE_SIZE) or images.dtype.kind != "f":
            images = images_to_array(images)
        if len(images) != self._lanes:
            raise AiccError(f"images must be one per lane, {self._lanes}, got {len(images)}")
        low, high = images.min(), images.max()
        if not (low >= 0.0 and high <= 1.0):  # also catches NaN
            raise AiccError(f"float images must lie in 0..1, got {low:g}..{high:g}")
        return images.astype(np.float32, copy=False)

    def _checked_actions(self, actions: np.ndarray) -> np.ndarray:
        """float32, because tubs are read as float32: a replay must see the very numbers the car saw."""
        commands = np.asarray(actions, dtype=np.float32)
        if commands.shape != (self._lanes, 2):
            raise AiccError(f"actions must have shape ({self._lanes}, 2), got {commands.shape}")
        if not np.isfinite(commands).all():
            raise AiccError(f"actions must be finite, got {commands.tolist()}")
        return commands
