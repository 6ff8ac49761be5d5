"""Training of the nets that look at camera frames.

VAE: squared error per pixel plus a little KL, which keeps the latent near unit scale for the dynamics net. Safety CNN: binary
cross-entropy over all horizons at once; a frame without a label at a horizon does not count there. Clean frames only and no
photometric augmentation: a net that had seen the shifts would hide what calibration must handle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.preprocess import NO_HISTORY, ActionStats, without_past
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.presets import NetSettings, VaeSettings
from donkey_aicc.training.trainer import Task
from donkey_aicc.tubs.labels import horizon_labels

VAE_VALIDATION_BATCH = 64
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
    for part in numbers.split(VAE_VALIDATION_BATCH):
        images = pool.images(part, device)
        total += float((vae(images) - images).square().mean(dim=(1, 2, 3)).sum())
    return total / count


SAFETY_VALIDATION_BATCH = 128
SHOWN_AS_STARTS = 0.1  # share of examples without their past, so that the net knows what the start of a sequence looks like


def masked_bce(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean over the labelled entries of (B, K); labels are NaN where there is none.

    weights: (B, K) of each label, or all alike.
    """
    known = labels.isfinite() if weights is None else labels.isfinite() * weights
    each = binary_cross_entropy_with_logits(logits, labels.nan_to_num(), reduction="none")
    return (each * known).sum() / known.sum().clamp(min=1 if weights is None else 1e-6)


def pool_labels(pool: FramePool, horizons: Sequence[int]) -> Tensor:
    """(N, K) labels of all frames of the pool, NaN where unlabelled."""
    return torch.from_numpy(np.concatenate([horizon_labels(sequence.safe, horizons) for sequence in pool.sequences]))


def label_weights(pool: FramePool, horizons: Sequence[int]) -> Tensor:
    """(N, K) weight of each label: 1 for a sure one, 0 for one that is as good as a coin."""
    certainty = np.concatenate([horizon_labels(sequence.certainty, horizons) for sequence in pool.sequences])
    return torch.from_numpy(np.clip(2.0 * np.nan_to_num(certainty, nan=0.5) - 1.0, 0.0, 1.0))


@dataclass(frozen=True)
class Past:
    """What the predictor sees besides the newest frame."""

    lags: tuple[int, ...] = NO_HISTORY
    stats: ActionStats = field(default_factory=lambda: ActionStats(np.zeros(2), np.ones(2)))


class SafetyTask(Task):
    name = "safety"

    def __init__(
        self,
        net: SafetyCNN,
        train: FramePool,
        validation: FramePool,
        horizons: Sequence[int],
        settings: NetSettings,
        device: torch.device,
        past: Past | None = None,
    ) -> None:
        self.past = past or Past()
        self.net = self.cnn = net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.train, self.validation, self.recipe, self.device = train, validation, settings, device
        self.horizons = tuple(horizons)
        labels = pool_labels(train, horizons)
        self.labelled = torch.nonzero(labels.isfinite().any(dim=1)).flatten()
        self.labels, self.weights = labels[self.labelled], label_weights(train, horizons)[self.labelled]

    def examples(self) -> int:
        return len(self.labelled)

    def loss(self, chosen: Tensor, epoch: int, generator: torch.Generator) -> Tensor:
        seen = self.train.inputs(self.labelled[chosen].numpy(), self.past.lags, self.past.stats, self.device)
        if len(self.past.lags) > 1:
            starts = torch.rand(len(seen), generator=generator, device=self.device) < SHOWN_AS_STARTS
            seen[starts] = without_past(seen[starts])
        seen = seen.contiguous(memory_format=torch.channels_last)
        return masked_bce(self.cnn(seen), self.labels[chosen].to(self.device), self.weights[chosen].to(self.device))

    def validate(self) -> dict[str, float]:
        logits = safety_logits(self.cnn, self.validation, self.device, self.past)
        labels = pool_labels(self.validation, self.horizons)
        areas = auroc_per_horizon(logits, labels, self.horizons)
        return {
            "loss": float(masked_bce(logits, labels)),
            **{f"auroc_{k}": area for k, area in areas.items() if area is not None},
        }


@torch.no_grad()
def safety_logits(net: SafetyCNN, pool: FramePool, device: torch.device, past: Past) -> Tensor:
    """(N, K) logits of all frames, on the CPU."""
    parts = np.split(np.arange(len(pool)), range(SAFETY_VALIDATION_BATCH, len(pool), SAFETY_VALIDATION_BATCH))
    return torch.cat([net(pool.inputs(part, past.lags, past.stats, device)).cpu() for part in parts])


def auroc_per_horizon(logits: Tensor, labels: Tensor, horizons: Sequence[int]) -> dict[int, float | None]:
    """Area under the ROC curve at each horizon; None where only one class occurs."""
    from sklearn.metrics import roc_auc_score

    areas: dict[int, float | None] = {}
    for column, horizon in enumerate(horizons):
        known = labels[:, column].isfinite()
        truth = labels[known, column].numpy()
        both = len(np.unique(truth)) == 2
        areas[int(horizon)] = float(roc_auc_score(truth, logits[known, column].numpy())) if both else None
    return areas
