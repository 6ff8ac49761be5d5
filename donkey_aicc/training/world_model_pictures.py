"""Contact sheets that show at a glance whether the world model has learned the road: real above predicted."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.files import atomic_path
from donkey_aicc.nets.camera_nets import VAE
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.rollouts import LatentPool, roll_out, spread_starts

ROLLOUT_STEPS = (1, 5, 10, 25, 50)
SHEET_COLUMNS = 8
SHEET_ROLLOUTS = 4


@torch.no_grad()
def reconstruction_sheet(path: Path, vae: VAE, pool: FramePool, device: torch.device) -> None:
    """Evenly spaced frames, each above its reconstruction."""
    numbers = np.linspace(0, len(pool) - 1, min(SHEET_COLUMNS, len(pool))).astype(np.int64)
    images = pool.images(numbers, device)
    titles = [f"frame {number}" for number in numbers]
    _save_sheet(path, [("real", images), ("rebuilt", vae(images))], titles, "Reconstruction of validation frames")


@torch.no_grad()
def rollout_sheet(path: Path, vae: VAE, dynamics: LatentDynamics, pool: LatentPool, context: int, device: torch.device) -> bool:
    """Decoded rollouts at k = 1, 5, 10, 25, 50 below what really came; False if no sequence is long enough."""
    length = context + ROLLOUT_STEPS[-1]
    starts = spread_starts(pool.frames.window_starts(length), SHEET_ROLLOUTS)
    if not len(starts):
        return False
    latents, actions = pool.windows(starts, length, device)
    predicted = roll_out(dynamics, latents, actions, context)
    rows = []
    for column, start in enumerate(starts.tolist()):
        frames = np.array([start + context - 1 + k for k in ROLLOUT_STEPS])
        rows.append((f"real from {start + context - 1}", pool.frames.images(frames, device)))
        rows.append(("predicted", vae.decode(torch.stack([predicted[k - 1, column] for k in ROLLOUT_STEPS]))))
    _save_sheet(path, rows, [f"k = {k}" for k in ROLLOUT_STEPS], "Open-loop rollouts with the recorded commands")
    return True


def _save_sheet(path: Path, rows: list[tuple[str, Tensor]], titles: list[str], heading: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.4 * len(titles) + 0.5, 1.45 * len(rows) + 0.6), layout="constrained")
    figure.suptitle(heading)
    grid = figure.subplots(len(rows), len(titles), squeeze=False)
    for row, (label, images) in enumerate(rows):
        for column, title in enumerate(titles):
            axes = grid[row, column]
            axes.imshow(images[column].permute(1, 2, 0).clamp(0, 1).cpu().numpy())
            axes.set(xticks=[], yticks=[])
            if row == 0:
                axes.set_title(title, fontsize=8)
            if column == 0:
                axes.set_ylabel(label, fontsize=8)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110)
