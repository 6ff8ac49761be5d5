"""One frame and one command in, raw anomaly scores out; the same object serves the car, a replayed tub and a batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.preprocess import images_to_tensor
from donkey_aicc.nets.vae import IMAGE_SIDE
from donkey_aicc.scoring.dynamics import RolloutScore
from donkey_aicc.scoring.features import ControlFeatures
from donkey_aicc.scoring.frame_stats import FrameStats
from donkey_aicc.scoring.inference import for_inference
from donkey_aicc.scoring.perception import PerceptionScore
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.settings import ScoreSettings

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle


@dataclass(frozen=True)
class FrameScores:
    """Scores of the newest frame of L lanes. Rollout features are NaN until the first rollout."""

    rho_raw: np.ndarray  # (L,) mean reconstruction MSE over the context
    features: np.ndarray  # (L, 12) in the order of FEATURE_NAMES
    latent: np.ndarray  # (L, 64) pooled latent mean over the context
    frame_error: np.ndarray  # (L,) reconstruction MSE of this frame alone
    frame_stats: np.ndarray  # (L, 8) in the order of FRAME_STATS, of this frame alone
    rollout_age_frames: int  # 0: the rollout features belong to this frame
    frames_seen: int
    warmed_up: bool  # the context is full and a rollout has run
    valid: np.ndarray  # (L,) bool: warmed up, and every number above is finite

    def named(self, lane: int = 0) -> dict[str, float]:
        """The 12 features of one lane by name."""
        return dict(zip(FEATURE_NAMES, self.features[lane].tolist(), strict=True))


class StreamScorer:
    """Scores L streams that start together, frame by frame.

    All randomness depends on (seed, frame number) only, so a replay repeats the drive's scores. A rollout of
    `rollout_steps` with the last command held runs at every frame whose number is a multiple of `rollout_every`.
    `pause` is called between the steps of the work: there a live car lets its drive loop go first. A number that is not
    finite makes its lane invalid until it has left the context; it never stays.
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
        self._vae, self._action_stats = for_inference(bundle.vae), bundle.action_stats
        self._device = next(bundle.vae.parameters()).device
        self._rollout_every, self._context, self._lanes = settings.rollout_every, settings.context, lanes
        randomness = FrameRandomness(settings.seed, settings.samples)
        self._pause = pause
        self._rollout = RolloutScore(bundle.dynamics, lanes, settings.samples, settings.rollout_steps, randomness, pause)
        self.reset()

    def reset(self, lanes: int | None = None) -> None:
        """Start new sequences: all lanes forget everything and the next frame is number 0. May change their number."""
        self._lanes = self._lanes if lanes is None else lanes
        self._perception = PerceptionScore(self._vae, self._lanes, self._context)
        self._control = ControlFeatures(self._lanes, self._context)
        self._frame_stats = FrameStats()
        self._rollout.reset(self._lanes)
        self._frames = 0

    @property
    def squared_error(self) -> Tensor | None:
        """(L, 3, 64, 64) of the newest frame: where it could not be rebuilt."""
        return self._perception.squared_error

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but those with these numbers, in this order: the sequences of the others have ended."""
        lanes = np.asarray(lanes, dtype=np.int64)
        for part in (self._perception, self._control, self._frame_stats, self._rollout):
            part.keep(lanes)
        self._lanes = len(lanes)

    @property
    def lanes(self) -> int:
        """How many streams are going."""
        return self._lanes

    @property
    def device(self) -> torch.device:
        """Where the nets are, and where image tensors are best made."""
        return self._device

    @torch.inference_mode()
    def step(
        self,
        images: np.ndarray | Tensor,
        actions: np.ndarray,
        run_rollout: bool | None = None,
        unseen: Sequence[np.ndarray] = (),
    ) -> FrameScores:
        """Take in the next frame of every lane; bad input raises AiccError and leaves the scorer as it was.

        images: (L, 64, 64, 3) uint8, or a tensor (L, 3, 64, 64) in [0, 1]. actions: (L, 2) raw steering and throttle.
        run_rollout: None follows the schedule, False leaves a due rollout out, True runs one anyway.
        unseen: actions, (L, 2) each, of the frames since the last one that a slow computer had no time to look at. They
        count: the context stays the same stretch of time, and a rollout that fell due among them runs now.
        """
        pixels = self._checked_images(images)
        commands = self._checked_actions(actions)
        missed = [self._checked_actions(each)[:, 0].astype(np.float64) for each in unseen]
        number = self._frames + len(missed)
        due = number // self._rollout_every > (self._frames - 1) // self._rollout_every if run_rollout is None else run_rollout
        if self._pause is not None:
            self._pause()
        rho_raw, pooled, z = self._perception.update(pixels, len(missed))
        norm = torch.linalg.vector_norm(z.flatten(1).double(), dim=1).cpu().numpy()
        control = self._control.update(commands[:, 0].astype(np.float64), norm, missed)
        normalised = torch.from_numpy(self._action_stats.normalise(commands)).to(self._device)
        if self._pause is not None:
            self._pause()
        rollout = self._rollout.update(z, normalised, due, len(missed))
        self._frames = number + 1
        features = np.concatenate([rollout, control], axis=1)
        warmed_up = self._frames >= self._context and self._rollout.has_rollout
        finite = np.isfinite(np.column_stack([rho_raw, features, pooled])).all(axis=1)
        return FrameScores(
            rho_raw=rho_raw,
            features=features,
            latent=pooled,
            frame_error=self._perception.last_error,
            frame_stats=self._frame_stats.update(pixels.cpu().numpy(), self._perception.last_error),
            rollout_age_frames=self._rollout.age_frames,
            frames_seen=self._frames,
            warmed_up=warmed_up,
            valid=finite & warmed_up,
        )

    def _checked_images(self, images: np.ndarray | Tensor) -> Tensor:
        if not isinstance(images, Tensor):
            images = images_to_tensor(np.asarray(images))
        expected = (self._lanes, 3, IMAGE_SIDE, IMAGE_SIDE)
        if tuple(images.shape) != expected:
            raise AiccError(f"images must be one per lane, {expected} as a tensor, got {tuple(images.shape)}")
        low, high = images.min().item(), images.max().item()
        if not (low >= 0.0 and high <= 1.0):  # also catches NaN
            raise AiccError(f"image tensors must lie in 0..1, got {low:g}..{high:g}")
        return images.to(self._device, torch.float32)

    def _checked_actions(self, actions: np.ndarray) -> np.ndarray:
        """float32, because tubs are read as float32: a replay must see the very numbers the car saw."""
        commands = np.asarray(actions, dtype=np.float32)
        if commands.shape != (self._lanes, 2):
            raise AiccError(f"actions must have shape ({self._lanes}, 2), got {commands.shape}")
        if not np.isfinite(commands).all():
            raise AiccError(f"actions must be finite, got {commands.tolist()}")
        return commands
