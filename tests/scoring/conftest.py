"""A small world for scoring: untrained nets of real size and short made-up drives."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.preprocess import NO_HISTORY, ActionStats
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.tubs.drive import Drive, make_drive


@dataclass
class MadeUpBundle:
    """The fields of a Bundle that scoring reads."""

    vae: VAE
    dynamics: LatentDynamics
    safety: SafetyCNN
    action_stats: ActionStats
    horizons: tuple[int, ...] = HORIZONS
    has_predictor: bool = True
    lags: tuple[int, ...] = NO_HISTORY


@pytest.fixture(scope="session")
def bundle() -> MadeUpBundle:
    torch.manual_seed(5)
    nets = VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))
    for net in nets:
        net.eval().requires_grad_(False)
    for name, values in nets[0].encoder[-1].named_parameters():
        # latents that move with the picture, as those of a trained encoder do, instead of resting on a bias
        values.mul_(0.0 if name.endswith("bias") else 5.0)
    nets[1].latent_std.fill_(0.4)
    return MadeUpBundle(*nets, ActionStats(np.array([0.05, 0.3]), np.array([0.3, 0.1])))


def made_up_drive(frames: int, seed: int = 0, name: str = "") -> Drive:
    """Changing pictures, wandering steering and labels."""
    rng = np.random.default_rng(seed)
    start, end = rng.integers(0, 256, size=(2, 1, 64, 64, 3))
    blend = rng.uniform(0, 1, (frames, 1, 1, 1))
    images = (start * blend + end * (1 - blend)).astype(np.uint8)
    steering = np.clip(np.cumsum(rng.normal(0, 0.05, frames)) + 0.2, -1, 1)
    steering[rng.random(frames) < 0.3] = 0.25  # holds, reversals and turns
    actions = np.stack([steering, np.full(frames, 0.3)], axis=1).astype(np.float32)
    cte = rng.normal(0, 0.2, frames)
    return make_drive(
        name or f"tub{seed}", "s", images, actions, cte=cte, safe=(np.abs(cte) < 0.25).astype(float), protocol="", severity=0
    )


@pytest.fixture
def drive():
    """made_up_drive, for tests."""
    return made_up_drive
