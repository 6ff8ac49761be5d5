"""Dynamics anomaly, the world model's share: how much S dropout samples disagree about the next K steps."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.scoring.ensemble import DynamicsEnsemble, EnsembleMasks
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import FEATURE_NAMES

ROLLOUT_FEATURES = FEATURE_NAMES[:3]


class RolloutScore:
    """S living hidden states of L lanes, advanced by one step per frame; the look ahead starts from them.

    Priming is never repeated. Between two rollouts the last features hold, and their age is told. A lane whose states are
    not finite any more begins anew; its features are NaN until the next rollout.
    """

    def __init__(
        self,
        net: LatentDynamics,
        lanes: int,
        samples: int,
        rollout_steps: int,
        randomness: FrameRandomness,
        pause: Callable[[], None] | None = None,
    ) -> None:
        self._ensemble = DynamicsEnsemble(net, samples)
        self._steps, self._pause = rollout_steps, pause
        self._randomness = randomness
        self._device = net.latent_mean.device
        self._recurrent = self._tensor(randomness.recurrent_masks())
        self.reset(lanes)

    def reset(self, lanes: int) -> None:
        """Forget everything; the next frame is number 0."""
        self._state = self._ensemble.initial_state(lanes)
        self._frame = 0
        self._features = np.full((lanes, len(ROLLOUT_FEATURES)), np.nan)
        self._age: int | None = None

    @property
    def age_frames(self) -> int:
        """Frames since the last rollout, 0 if it belongs to the newest frame; all frames seen if there was none."""
        return self._frame if self._age is None else self._age

    @property
    def has_rollout(self) -> bool:
        return self._age is not None

    def update(self, z: Tensor, action: Tensor, run_rollout: bool, unseen: int = 0) -> np.ndarray:
        """z (L, 64, 4, 4) and normalised action (L, 2) of the new frame -> (L, 3) in the order of ROLLOUT_FEATURES.

        unseen: frames since the last one that were not looked at; the states take them in one step with this one.
        """
        self._frame += unseen
        between = self._tensor(self._randomness.between_masks(self._frame, self._steps if run_rollout else 1))
        self._state = self._ensemble.observe(z, action, self._state, EnsembleMasks(self._recurrent, between[0]))
        self._state, spoiled = self._ensemble.without_non_finite(self._state)
        self._frame += 1
        if run_rollout:
            ahead = self._ensemble.rollout(z, action, self._state, self._recurrent, between, self._pause)
            sigma = ahead.double().cpu().numpy()
            self._features = np.stack([sigma.mean(axis=1), sigma.max(axis=1), sigma.std(axis=1)], axis=1)
            self._age = 0
        elif self._age is not None:
            self._age += 1 + unseen
        if spoiled.any():
            self._features = np.where(spoiled[:, None], np.nan, self._features)
        return self._features

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._state = self._ensemble.keep(self._state, torch.from_numpy(lanes))
        self._features = self._features[lanes]

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self._device)
