"""Windows of cached latents and rolling the dynamics net over them."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.preprocess import ActionStats
from donkey_aicc.training.frames import FramePool


@dataclass(frozen=True)
class LatentPool:
    """Latents and normalised actions of all frames of some sequences, in the numbering of the frame pool."""

    frames: FramePool
    latents: Tensor  # (N, 64, 4, 4)
    actions: Tensor  # (N, 2)

    @classmethod
    def make(cls, frames: FramePool, latents: Tensor, stats: ActionStats) -> "LatentPool":
        return cls(frames, latents, frames.actions(stats))

    def windows(self, starts: Tensor, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Time first: latents (T, B, 64, 4, 4) and actions (T, B, 2) of the windows at these frames."""
        numbers = starts[None, :] + torch.arange(length)[:, None]
        return self.latents[numbers].to(device), self.actions[numbers].to(device)


def spread_starts(starts: Tensor, most: int) -> Tensor:
    """At most `most` of the starts, evenly spaced."""
    if len(starts) <= most:
        return starts
    return starts[torch.from_numpy(np.linspace(0, len(starts) - 1, most).round().astype(np.int64))]


@torch.no_grad()
def roll_out(net: LatentDynamics, latents: Tensor, actions: Tensor, context: int, hold: bool = False) -> Tensor:
    """Show `context` true latents, then predict the rest of the window open-loop, without dropout.

    latents (T, B, 64, 4, 4), actions (T, B, 2) -> predictions (T - context, B, 64, 4, 4) for k = 1, 2, ...
    The recorded actions are used, or with `hold` the last one of the context.
    """
    state = net.initial_state(latents.shape[1], latents.device)
    for step in range(context - 1):
        _, state = net.step(latents[step], actions[step], state)
    z, predictions = latents[context - 1], []
    for step in range(context - 1, len(latents) - 1):
        z, state = net.step(z, actions[context - 1 if hold else step], state)
        predictions.append(z)
    return torch.stack(predictions)
