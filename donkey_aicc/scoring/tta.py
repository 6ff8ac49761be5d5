"""Test-time augmentation of the safety predictor: mean probability over slightly altered views (paper, Section IV)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.safety_cnn import SafetyCNN

VIEWS = 9
FACTOR_RANGE = (0.7, 1.3)  # of contrast and of saturation
NOISE_SIGMA_MAX = 0.05

_LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601


@dataclass(frozen=True)
class TTAPrediction:
    """Of B frames, K horizons."""

    p_tta: Tensor  # (B, K) mean probability over the views
    spread: Tensor  # (B, K) standard deviation of the probability over the views
    p_identity: Tensor  # (B, K) probability of the unaltered frame
    features: Tensor  # (B, 128) of the unaltered frame


def tta_views(images: Tensor, rng: np.random.Generator, views: int = VIEWS) -> Tensor:
    """(B, 3, 64, 64) in [0, 1] -> (B, views, 3, 64, 64): the frame itself, then altered contrast, saturation and noise.

    Contrast stretches about the frame's mean grey, saturation about each pixel's grey; then noise is added and the
    result clipped. No flips: they would swap the side on which the car leaves the track. Factors and noise are drawn
    once per call and shared by the B frames, so that a frame's views do not depend on its batch.
    """
    if views < 1:
        raise ConfigError(f"views must be >= 1, got {views}")
    altered = views - 1
    if not altered:
        return images[:, None]
    contrast, saturation = rng.uniform(*FACTOR_RANGE, size=(2, altered))
    sigma = rng.uniform(0.0, NOISE_SIGMA_MAX, size=altered)
    noise = rng.standard_normal((altered, *images.shape[1:]), dtype=np.float32)

    def factor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values.astype(np.float32)).to(images.device).view(-1, 1, 1, 1)

    grey = torch.einsum("bchw,c->bhw", images, images.new_tensor(_LUMA))[:, None, None]
    mean_grey = grey.mean(dim=(-2, -1), keepdim=True)
    result = images.new_empty(len(images), views, *images.shape[1:])
    result[:, 0] = images
    out = result[:, 1:]
    torch.mul(images[:, None], factor(contrast * saturation), out=out)
    # Both changes are linear, so they become one sum: colour, grey and mean grey with one factor each.
    out += grey * factor(contrast * (1 - saturation)) + mean_grey * factor(1 - contrast)
    out += torch.from_numpy(noise).to(images.device) * factor(sigma)
    out.clamp_(0.0, 1.0)
    return result


@torch.inference_mode()
def predict_tta(net: SafetyCNN, images: Tensor, rng: np.random.Generator, views: int = VIEWS) -> TTAPrediction:
    """All views of all frames in one pass of the net, which must be in evaluation mode. images: (B, 3, 64, 64)."""
    batch = tta_views(images, rng, views)
    features, logits = net.features_and_logits(batch.flatten(0, 1))
    p = torch.sigmoid(logits).view(len(images), views, -1)
    return TTAPrediction(
        p_tta=p.mean(dim=1),
        spread=p.std(dim=1, correction=0),
        p_identity=p[:, 0],
        features=features.view(len(images), views, -1)[:, 0],
    )
