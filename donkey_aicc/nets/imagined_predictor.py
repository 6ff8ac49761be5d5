"""The `imagined` predictor: roll the world model ahead, decode, and ask the safety CNN about the imagined frame."""

from collections.abc import Sequence

import torch
from torch import Tensor

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.dynamics import LatentDynamics, Masks, State
from donkey_aicc.nets.history import frames_in
from donkey_aicc.nets.safety_cnn import SafetyCNN
from donkey_aicc.nets.vae import VAE


class ImaginedPredictor:
    """Probability of being safe at each horizon, read off decoded future frames.

    The frame imagined for t + k is classified by the CNN's head of the smallest horizon, the label nearest to
    "safe now". The future command is unknown, so the last one is held. A CNN with history sees each imagined frame as the first
    of a sequence.
    """

    def __init__(self, vae: VAE, dynamics: LatentDynamics, safety: SafetyCNN, horizons: Sequence[int]) -> None:
        if list(horizons) != sorted(set(horizons)) or not horizons or horizons[0] < 1:
            raise ConfigError(f"horizons must be positive and increasing, got {list(horizons)}")
        self.vae, self.dynamics, self.safety = vae, dynamics, safety
        self.horizons = tuple(int(k) for k in horizons)

    @torch.no_grad()
    def predict(self, z: Tensor, state: State, action: Tensor, masks: Masks | None = None) -> Tensor:
        """z (B, 64, 4, 4) and normalised action (B, 2) at t, state primed with everything before t -> p (B, K)."""
        imagined = []
        for k in range(1, self.horizons[-1] + 1):
            z, state = self.dynamics.step(z, action, state, masks)
            if k in self.horizons:
                imagined.append(z)
        batch = len(imagined[0])
        frames = self.vae.decode(torch.cat(imagined))
        nearest = torch.sigmoid(self.safety(self._input(frames, action))[:, 0])
        return nearest.view(len(self.horizons), batch).T

    def _input(self, frames: Tensor, action: Tensor) -> Tensor:
        """frames (K B, 3, 64, 64), normalised action (B, 2) -> the CNN's input."""
        count = frames_in(self.safety.inputs)
        if count == 1:
            return frames
        planes = action[:, :1].repeat(len(self.horizons), count)[:, :, None, None].expand(-1, -1, *frames.shape[2:])
        return torch.cat([frames.repeat(1, count, 1, 1), planes], dim=1)
