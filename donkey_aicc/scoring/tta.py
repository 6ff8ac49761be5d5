"""Test-time augmentation of the safety predictor: mean probability over slightly altered views (paper, Section IV)."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.history import frames_in
from donkey_aicc.nets.safety_cnn import SafetyCNN

VIEWS = 9
FACTOR_RANGE = (0.7, 1.3)  # of contrast and of saturation
NOISE_SIGMA_MAX = 0.05

_LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601
_NOISE_NUMBERS = 1 << 18  # drawn once: a new draw for every view would take a seventh of the control path's time


@dataclass(frozen=True)
class TTAPrediction:
    """Of B frames, K horizons."""

    p_tta: Tensor  # (B, K) mean probability over the views
    spread: Tensor  # (B, K) standard deviation of the probability over the views
    p_identity: Tensor  # (B, K) probability of the unaltered frame
    features: Tensor  # (B, 128) of the unaltered frame


@cache
def _noise(device: torch.device) -> Tensor:
    """Standard normal numbers; every view adds another stretch of them."""
    numbers = np.random.default_rng(0).standard_normal(_NOISE_NUMBERS, dtype=np.float32)
    return torch.from_numpy(numbers).to(device)


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
    numbers = images[0].numel()
    starts = rng.integers(_NOISE_NUMBERS - numbers, size=altered)

    pixels = images.flatten(2)
    colours = _colour_matrices(contrast, saturation).to(images.device)
    mean_grey = pixels.mean(dim=2) @ images.new_tensor(_LUMA)
    kept = images.new_tensor(1.0 - contrast)
    result = images.new_empty(len(images), views, *images.shape[1:])
    result[:, 0] = images
    noise = images.new_empty(altered, numbers)
    for view, (start, strength) in enumerate(zip(starts.tolist(), sigma.tolist(), strict=True)):
        torch.mul(_noise(images.device)[start : start + numbers], strength, out=noise[view])
    for frame in range(len(images)):
        out = result[frame, 1:]
        # Both changes are linear: each view's colours are a 3 x 3 matrix times the frame's, and a constant.
        torch.addmm(noise.view(3 * altered, -1), colours, pixels[frame], out=out.view(3 * altered, -1))
        out += (kept * mean_grey[frame]).view(-1, 1, 1, 1)
    return result.clamp_(0.0, 1.0)


def _colour_matrices(contrast: np.ndarray, saturation: np.ndarray) -> Tensor:
    """(V,) each -> (3 V, 3): contrast * (saturation * colour + (1 - saturation) * grey), one matrix below the other."""
    grey = np.tile(_LUMA, (3, 1))
    mixed = saturation[:, None, None] * np.eye(3) + (1.0 - saturation)[:, None, None] * grey
    return torch.from_numpy((contrast[:, None, None] * mixed).reshape(-1, 3).astype(np.float32))


def input_views(x: Tensor, rng: np.random.Generator, views: int = VIEWS) -> Tensor:
    """(B, C, 64, 64) -> (B, views, C, 64, 64): all frames of a history under the same view, its commands as they are."""
    batch, channels, height, width = x.shape
    frames = frames_in(channels)
    if frames == 1:
        return tta_views(x, rng, views)
    pictures = tta_views(x[:, : 3 * frames].reshape(batch * frames, 3, height, width), rng, views)
    pictures = pictures.view(batch, frames, views, 3, height, width).transpose(1, 2).flatten(2, 3)
    commands = x[:, None, 3 * frames :].expand(-1, views, -1, -1, -1)
    return torch.cat([pictures, commands], dim=2)


@torch.inference_mode()
def predict_tta(net: SafetyCNN, images: Tensor, rng: np.random.Generator, views: int = VIEWS) -> TTAPrediction:
    """All views of all frames in one pass of the net, which must be in evaluation mode. images: (B, C, 64, 64)."""
    batch = input_views(images, rng, views)
    features, logits = net.features_and_logits(batch.flatten(0, 1))
    p = torch.sigmoid(logits).view(len(images), views, -1)
    return TTAPrediction(
        p_tta=p.mean(dim=1),
        spread=p.std(dim=1, correction=0),
        p_identity=p[:, 0],
        features=features.view(len(images), views, -1)[:, 0],
    )
