"""Test-time augmentation of the safety predictor: mean probability over slightly altered views (paper, Section IV)."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.engine import Engine
from donkey_aicc.nets.preprocess import frames_in
from donkey_aicc.scoring.restored_view import Restoration

VIEWS = 9
FACTOR_RANGE = (0.7, 1.3)  # of contrast and of saturation
NOISE_SIGMA_MAX = 0.05

_LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601
_NOISE_NUMBERS = 1 << 18  # drawn once: a new draw for every view would take a seventh of the control path's time


@dataclass(frozen=True)
class TTAPrediction:
    """Of B frames, K horizons."""

    p_tta: np.ndarray  # (B, K) mean probability over the views
    spread: np.ndarray  # (B, K) standard deviation of the probability over the views
    p_restored: np.ndarray  # (B, K) p_tta, blended with the same mean over views of the restored frame where that is asked for
    p_identity: np.ndarray  # (B, K) probability of the unaltered frame
    features: np.ndarray  # (B, 128) of the unaltered frame


@cache
def _noise() -> np.ndarray:
    """Standard normal numbers; every view adds another stretch of them."""
    return np.random.default_rng(0).standard_normal(_NOISE_NUMBERS, dtype=np.float32)


def tta_views(images: np.ndarray, rng: np.random.Generator, views: int = VIEWS) -> np.ndarray:
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
    numbers = images[0].size
    starts = rng.integers(_NOISE_NUMBERS - numbers, size=altered)

    pixels = images.reshape(len(images), 3, -1)
    colours = _colour_matrices(contrast, saturation)
    constant = (1.0 - contrast) * (pixels.mean(axis=2) @ np.array(_LUMA, dtype=np.float32))[:, None]
    result = np.empty((len(images), views, *images.shape[1:]), dtype=np.float32)
    result[:, 0] = images
    for frame, out in enumerate(result[:, 1:].reshape(len(images), altered, -1)):
        # Both changes are linear: each view's colours are a 3 x 3 matrix times the frame's, and a constant.
        np.matmul(colours, pixels[frame], out=out.reshape(3 * altered, -1))
        out += constant[frame][:, None].astype(np.float32)
        for view, (start, strength) in enumerate(zip(starts, sigma, strict=True)):
            out[view] += _noise()[start : start + numbers] * np.float32(strength)
    return np.clip(result, 0.0, 1.0, out=result)


def _colour_matrices(contrast: np.ndarray, saturation: np.ndarray) -> np.ndarray:
    """(V,) each -> (3 V, 3): contrast * (saturation * colour + (1 - saturation) * grey), one matrix below the other."""
    grey = np.tile(_LUMA, (3, 1))
    mixed = saturation[:, None, None] * np.eye(3) + (1.0 - saturation)[:, None, None] * grey
    return (contrast[:, None, None] * mixed).reshape(-1, 3).astype(np.float32)


def input_views(x: np.ndarray, rng: np.random.Generator, views: int = VIEWS) -> np.ndarray:
    """(B, C, 64, 64) -> (B, views, C, 64, 64): all frames of a history under the same view, its commands as they are."""
    batch, channels, height, width = x.shape
    frames = frames_in(channels)
    if channels == 3:
        return tta_views(x, rng, views)
    pictures = tta_views(x[:, : 3 * frames].reshape(batch * frames, 3, height, width), rng, views)
    pictures = pictures.reshape(batch, frames, views, 3, height, width).swapaxes(1, 2)
    commands = np.broadcast_to(x[:, None, 3 * frames :], (batch, views, channels - 3 * frames, height, width))
    return np.concatenate([pictures.reshape(batch, views, 3 * frames, height, width), commands], axis=2)


def predict_tta(
    engine: Engine,
    images: np.ndarray,
    rng: np.random.Generator,
    views: int = VIEWS,
    restoration: Restoration | None = None,
    share: np.ndarray | None = None,
) -> TTAPrediction:
    """All views of all frames in one pass of the predictor. images: (B, C, 64, 64) as `preprocess.stacked` makes them.

    share: (B,) how much of the restored view to take into p_restored, in a second pass over those frames that take any.
    """
    state = rng.bit_generator.state
    features, p = _predicted(engine, images, rng, views)
    p_tta = p.mean(axis=1)
    p_restored = p_tta
    if restoration is not None and share is not None and (rows := np.flatnonzero(share > 0.0)).size:
        rng.bit_generator.state = state  # the restored frame under the very same views
        seen = _predicted(engine, restoration.inputs(images[rows]), rng, views)[1].mean(axis=1)
        p_restored = p_tta.copy()
        p_restored[rows] += share[rows, None].astype(p_tta.dtype) * (seen - p_tta[rows])
    return TTAPrediction(
        p_tta=p_tta,
        spread=p.std(axis=1),
        p_restored=p_restored,
        p_identity=p[:, 0],
        features=features.reshape(len(images), views, -1)[:, 0],
    )


def _predicted(engine: Engine, images: np.ndarray, rng: np.random.Generator, views: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (B * views, 128) and probabilities (B, views, K)."""
    batch = input_views(images, rng, views)
    features, logits = engine.predict(batch.reshape(-1, *images.shape[1:]))
    return features, sigmoid(logits).reshape(len(images), views, -1)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """The same for large numbers of either sign, without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))
