"""A small world for scoring: untrained nets of real size and short made-up drives."""

import numpy as np
import pytest
import torch

from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.nets.trained_nets import Nets, save_bundle
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.tubs.drive import Drive, make_drive


@pytest.fixture(scope="session")
def nets() -> Nets:
    """What the bundle was saved from, for a test to compare with."""
    torch.manual_seed(5)
    made = VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))
    for net in made:
        net.eval().requires_grad_(False)
    for name, values in made[0].encoder[-1].named_parameters():
        # latents that move with the picture, as those of a trained encoder do, instead of resting on a bias
        values.mul_(0.0 if name.endswith("bias") else 5.0)
    made[1].latent_std.fill_(0.4)
    return Nets(*made)


@pytest.fixture(scope="session")
def bundle(nets, tmp_path_factory) -> Bundle:
    folder = tmp_path_factory.mktemp("scoring") / "bundle"
    save_bundle(folder, nets, Manifest(horizons=list(HORIZONS), action_stats={"mean": [0.05, 0.3], "std": [0.3, 0.1]}))
    return Bundle.load(folder)


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
