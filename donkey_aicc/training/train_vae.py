"""VAE: squared error per pixel plus a little KL, which keeps the latent near unit scale for the dynamics net."""

import torch
from torch import Tensor

from donkey_aicc.nets.camera_nets import VAE
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.presets import VaeSettings
from donkey_aicc.training.trainer import Task

VALIDATION_BATCH = 64
MOST_VALIDATION_FRAMES = 1000


def vae_loss(vae: VAE, images: Tensor, beta: float, generator: torch.Generator) -> Tensor:
    """Mean over pixels of the squared error + beta * mean over latent values of the KL divergence to N(0, 1)."""
    mean, logvar = vae.encode(images)
    noise = torch.randn(mean.shape, generator=generator, device=mean.device)
    rebuilt = vae.decode(mean + noise * torch.exp(0.5 * logvar))
    return (rebuilt - images).square().mean() + beta * 0.5 * (mean.square() + logvar.exp() - 1.0 - logvar).mean()


class VaeTask(Task):
    name = "vae"

    def __init__(self, vae: VAE, train: FramePool, validation: FramePool, settings: VaeSettings, device: torch.device) -> None:
        self.net = self.vae = vae.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.train, self.validation, self.recipe, self.device = train, validation, settings, device
        self.beta, self.most = settings.beta, settings.frames

    def examples(self) -> int:
        return len(self.train)

    def examples_per_epoch(self) -> int:
        return self.most or self.examples()

    def loss(self, chosen: Tensor, epoch: int, generator: torch.Generator) -> Tensor:
        images = self.train.images(chosen, self.device).contiguous(memory_format=torch.channels_last)
        return vae_loss(self.vae, images, self.beta, generator)

    def validate(self) -> dict[str, float]:
        """`loss` is the per-pixel MSE through the latent mean, the quantity that scoring uses later."""
        return {"loss": reconstruction_mse(self.vae, self.validation, self.device, MOST_VALIDATION_FRAMES)}


@torch.no_grad()
def reconstruction_mse(vae: VAE, pool: FramePool, device: torch.device, most: int | None = None) -> float:
    """Per-pixel MSE of d(e(x)) over the pool, or over `most` evenly spaced frames of it."""
    count = len(pool) if most is None else min(most, len(pool))
    numbers = torch.linspace(0, len(pool) - 1, count).long()
    total = 0.0
    for part in numbers.split(VALIDATION_BATCH):
        images = pool.images(part, device)
        total += float((vae(images) - images).square().mean(dim=(1, 2, 3)).sum())
    return total / count
