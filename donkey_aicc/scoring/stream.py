"""One frame and one command in, raw anomaly scores out; the same object serves the car, a replayed tub and a batch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.vae import IMAGE_SIDE
from donkey_aicc.preprocess import images_to_tensor
from donkey_aicc.score_table import FEATURE_NAMES
from donkey_aicc.scoring.dynamics import RolloutScore
from donkey_aicc.scoring.features import ControlFeatures
from donkey_aicc.scoring.inference import for_inference
from donkey_aicc.scoring.perception import PerceptionScore
from donkey_aicc.scoring.randomness import FrameRandomness

if TYPE_CHECKING:
    from donkey_aicc.bundle import Bundle

SAMPLES = 20
ROLLOUT_STEPS = 50
ROLLOUT_EVERY = 10
CONTEXT = 100


@dataclass(frozen=True)
class FrameScores:
    """Scores of the newest frame of L lanes. Rollout features are NaN until the first rollout."""

    rho_raw: np.ndarray  # (L,) mean reconstruction MSE over the context
    features: np.ndarray  # (L, 12) in the order of FEATURE_NAMES
    latent: np.ndarray  # (L, 64) pooled latent mean over the context
    frame_error: np.ndarray  # (L,) reconstruction MSE of this frame alone
    rollout_age_frames: int  # 0: the rollout features belong to this frame
    frames_seen: int
    valid: bool  # the context is full and a rollout has run

    def named(self, lane: int = 0) -> dict[str, float]:
        """The 12 features of one lane by name."""
        return dict(zip(FEATURE_NAMES, self.features[lane].tolist(), strict=True))


class StreamScorer:
    """Scores L streams that start together, frame by frame.

    All randomness depends on (seed, frame number) only, so a replay repeats the drive's scores. A rollout of
    `rollout_steps` with the last command held runs at every frame whose number is a multiple of `rollout_every`.
    `pause` is called between the steps of the work: there a live car lets its drive loop go first.
    """

    def __init__(
        self,
        bundle: "Bundle",
        *,
        lanes: int = 1,
        samples: int = SAMPLES,
        rollout_steps: int = ROLLOUT_STEPS,
        rollout_every: int = ROLLOUT_EVERY,
        context: int = CONTEXT,
        seed: int = 0,
        pause: Callable[[], None] | None = None,
    ) -> None:
        settings = {"lanes": lanes, "samples": samples, "rollout_steps": rollout_steps, "rollout_every": rollout_every}
        for name, value in {**settings, "context": context}.items():
            least = 2 if name == "context" else 1  # a change needs two frames
            if value < least:
                raise ConfigError(f"{name} must be >= {least}, got {value}")
        self._vae, self._action_stats = for_inference(bundle.vae), bundle.action_stats
        self._device = next(bundle.vae.parameters()).device
        self._rollout_every, self._context, self._lanes = rollout_every, context, lanes
        randomness = FrameRandomness(seed, samples)
        self._pause = pause
        self._rollout = RolloutScore(bundle.dynamics, lanes, samples, rollout_steps, randomness, pause)
        self.reset()

    def reset(self, lanes: int | None = None) -> None:
        """Start new sequences: all lanes forget everything and the next frame is number 0. May change their number."""
        self._lanes = self._lanes if lanes is None else lanes
        self._perception = PerceptionScore(self._vae, self._lanes, self._context)
        self._control = ControlFeatures(self._lanes, self._context)
        self._rollout.reset(self._lanes)
        self._frames = 0

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but those with these numbers, in this order: the sequences of the others have ended."""
        lanes = np.asarray(lanes, dtype=np.int64)
        for part in (self._perception, self._control, self._rollout):
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
    def step(self, images: np.ndarray | Tensor, actions: np.ndarray, run_rollout: bool | None = None) -> FrameScores:
        """Take in the next frame of every lane; bad input raises AiccError and leaves the scorer as it was.

        images: (L, 64, 64, 3) uint8, or a tensor (L, 3, 64, 64) in [0, 1]. actions: (L, 2) raw steering and throttle.
        run_rollout: None follows the schedule, False leaves a due rollout out, True runs one anyway.
        """
        pixels = self._checked_images(images)
        commands = self._checked_actions(actions)
        due = self._frames % self._rollout_every == 0 if run_rollout is None else run_rollout
        if self._pause is not None:
            self._pause()
        rho_raw, pooled, z = self._perception.update(pixels)
        norm = torch.linalg.vector_norm(z.flatten(1).double(), dim=1).cpu().numpy()
        control = self._control.update(commands[:, 0].astype(np.float64), norm)
        normalised = torch.from_numpy(self._action_stats.normalise(commands)).to(self._device)
        if self._pause is not None:
            self._pause()
        rollout = self._rollout.update(z, normalised, due)
        self._frames += 1
        return FrameScores(
            rho_raw=rho_raw,
            features=np.concatenate([rollout, control], axis=1),
            latent=pooled,
            frame_error=self._perception.last_error,
            rollout_age_frames=self._rollout.age_frames,
            frames_seen=self._frames,
            valid=self._frames >= self._context and self._rollout.has_rollout,
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
