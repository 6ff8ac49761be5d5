"""Frames a second of each training stage, and what caching latents is worth.

    python benchmarks/bench_training.py [THREADS]

The straightforward loop to compare with takes the images of every window of every batch through the VAE again, then
runs the dynamics net with plain convolutions and the gradient through the whole window.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.preprocess import ActionStats
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.training.frames import FramePool, encode_all
from donkey_aicc.training.presets import PRESETS
from donkey_aicc.training.train_camera_nets import SafetyTask, VaeTask
from donkey_aicc.training.train_dynamics import DynamicsTask, LatentPool
from donkey_aicc.training.trainer import Task
from donkey_aicc.tubs.drive import make_drive

CPU = torch.device("cpu")
FRAMES = 400
TARGET = 4.0


def main() -> None:
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else torch.get_num_threads())
    print(f"training, preset quick, {torch.get_num_threads()} threads")
    pool, preset = noise_pool(), PRESETS["quick"]
    vae = VAE()
    show("vae", stepping(VaeTask(vae, pool, pool, preset.vae, CPU)), preset.vae.batch)
    show("encoding", lambda: encode_all(vae, pool, CPU, show=False), len(pool))
    show("safety", stepping(SafetyTask(SafetyCNN(), pool, pool, HORIZONS, preset.safety, CPU)), preset.safety.batch)
    latents = LatentPool.make(pool, encode_all(vae, pool, CPU, show=False), ActionStats.fit(pool.sequences[0].actions))
    task = DynamicsTask(LatentDynamics(), latents, latents, preset.dynamics, CPU)
    seen = preset.dynamics.batch * task.frames_per_example
    cached_s = show("dynamics", stepping(task), seen)
    straight_s = show("dynamics, straightforward loop", stepping(Straightforward(vae, task)), seen)
    starts = task.starts[: preset.dynamics.batch]
    windows_s = seconds(lambda: latents.windows(starts, task.frames_per_example, CPU))
    again_s = seconds(lambda: window_latents(vae, pool, starts, task.frames_per_example))
    print(f"  latents of one batch, cached against encoded again: {again_s / windows_s:.0f}x")
    print(f"  whole step against the straightforward loop: {straight_s / cached_s:.1f}x (target {TARGET:.0f}x)")


def noise_pool() -> FramePool:
    """Speed does not depend on what the pictures show."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (FRAMES, 64, 64, 3), dtype=np.uint8)
    safe = (rng.random(FRAMES) < 0.5).astype(np.float32)
    return FramePool([make_drive("noise", "0", images, rng.uniform(-1, 1, (FRAMES, 2)), safe=safe)])


LAST_EPOCH = 10**6  # full predicted stretch, no teacher forcing


def stepping(task: Task) -> Callable[[], None]:
    """One optimiser step of the task on its first examples."""
    optimiser = torch.optim.AdamW(task.net.parameters(), lr=1e-5)
    chosen = torch.arange(task.recipe.batch)

    def step() -> None:
        task.net.train()
        optimiser.zero_grad(set_to_none=True)
        task.loss(chosen, LAST_EPOCH, torch.Generator().manual_seed(0)).backward()
        optimiser.step()

    return step


@torch.no_grad()
def window_latents(vae: VAE, pool: FramePool, starts: torch.Tensor, length: int) -> torch.Tensor:
    """(T, B, 64, 4, 4) through the encoder, frame by frame of the windows."""
    numbers = starts[None, :] + torch.arange(length)[:, None]
    return torch.stack([vae.eval().encode(pool.images(row, CPU))[0] for row in numbers])


class Straightforward(Task):
    """The same loss without cached latents, without the Winograd convolution, with gradient through all of the context."""

    def __init__(self, vae: VAE, task: DynamicsTask) -> None:
        settings = replace(task.settings, context_grad=task.settings.context)
        self.inner = DynamicsTask(LatentDynamics(), task.train, task.validation, settings, CPU)
        for cell in self.inner.dynamics.cells:
            cell.__dict__["_convolve"] = cell.gates.forward
        self.vae, self.net, self.recipe = vae, self.inner.net, settings

    def examples(self) -> int:
        return self.inner.examples()

    def loss(self, chosen: torch.Tensor, epoch: int, generator: torch.Generator) -> torch.Tensor:
        starts, length = self.inner.starts[chosen], self.inner.frames_per_example
        latents = window_latents(self.vae, self.inner.train.frames, starts, length)
        _, actions = self.inner.train.windows(starts, length, CPU)
        return self.inner.window_loss(latents, actions, 0.0, generator)

    def validate(self) -> dict[str, float]:
        return self.inner.validate()


def seconds(work: Callable[[], object], times: int = 2) -> float:
    work()
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        durations.append(time.perf_counter() - started)
    return min(durations)


def show(name: str, work: Callable[[], object], frames: int) -> float:
    taken = seconds(work)
    print(f"  {name + ':':34}{frames / taken:8.0f} frames/s", flush=True)
    return taken


if __name__ == "__main__":
    main()
