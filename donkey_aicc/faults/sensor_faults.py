"""Faults on the camera side. Each takes a frame (H, W[, C]) and hands out a new array: the camera's own is never written to."""

from collections import deque
from typing import Protocol

import cv2
import numpy as np

from donkey_aicc.faults.protocols import BlurParameters, DarkParameters, LatencyParameters

REFERENCE_WIDTH_PX = 160
HALF_SIZE_SIGMA_PX = 2.5


class SensorFault(Protocol):
    """What every camera fault offers."""

    def run(self, image: np.ndarray) -> np.ndarray:
        """The frame of this tick as the faulty sensor shows it."""

    def reset(self) -> None:
        """Start the episode again from its first tick."""


class Dark:
    """Less light: pixel values times the luminance factor."""

    def __init__(self, parameters: DarkParameters) -> None:
        self.factor = parameters.luminance_factor
        self._table = np.clip(np.rint(np.arange(256) * self.factor), 0, 255).astype(np.uint8)

    def run(self, image: np.ndarray) -> np.ndarray:
        if image.dtype == np.uint8:
            return cv2.LUT(image, self._table).reshape(image.shape)
        return (image * self.factor).astype(image.dtype)

    def reset(self) -> None:
        """Nothing is remembered between frames."""


class Blur:
    """Out of focus: Gaussian blur whose sigma scales with the frame's width."""

    def __init__(self, parameters: BlurParameters) -> None:
        self.sigma_px = parameters.sigma_px

    def run(self, image: np.ndarray) -> np.ndarray:
        sigma = self.sigma_px * image.shape[1] / REFERENCE_WIDTH_PX
        if sigma <= 0.0:
            return image.copy()
        if sigma < HALF_SIZE_SIGMA_PX:
            return _gaussian(image, sigma).reshape(image.shape)
        # A wide blur leaves nothing that half the resolution could lose, at a quarter of the cost. Halving and doubling
        # the size already blur with a variance of 1 px^2.
        height, width = image.shape[:2]
        half = cv2.resize(image, ((width + 1) // 2, (height + 1) // 2), interpolation=cv2.INTER_AREA)
        soft = _gaussian(half, (sigma**2 - 1.0) ** 0.5 / 2.0)
        return cv2.resize(soft, (width, height), interpolation=cv2.INTER_LINEAR).reshape(image.shape)

    def reset(self) -> None:
        """Nothing is remembered between frames."""


def _gaussian(image: np.ndarray, sigma: float) -> np.ndarray:
    return cv2.GaussianBlur(image, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)


class LateFrames:
    """Frames late by a delay that wanders, and a feed that stands still now and then, for a set time."""

    def __init__(self, parameters: LatencyParameters, rate_hz: float, seed: tuple[int, ...]) -> None:
        self.parameters = parameters
        self.rate_hz = rate_hz
        self.seed = seed
        self.reset()

    def reset(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        low, high = self._limits()
        self._delay = self._rng.uniform(low, high)
        self._frames: deque[tuple[int, np.ndarray]] = deque(maxlen=int(np.ceil(high)) + 1)
        self._tick = -1
        self._shown: tuple[int, np.ndarray] | None = None
        self._thaw = 0
        self._next_freeze = self._draw_pause()

    def _limits(self) -> tuple[float, float]:
        return self.parameters.delay_min_s * self.rate_hz, self.parameters.delay_max_s * self.rate_hz

    def _draw_pause(self) -> int:
        """Ticks until the feed next stands still; within half of the stated pause, so that it cannot be foreseen."""
        return max(1, round(self._rng.uniform(0.5, 1.5) * self.parameters.freeze_every_s * self.rate_hz))

    def run(self, image: np.ndarray) -> np.ndarray:
        self._tick += 1
        self._frames.append((self._tick, image.copy()))  # cameras may reuse their array
        low, high = self._limits()
        self._delay = float(np.clip(self._delay + self._rng.normal(0.0, 0.15 * (high - low)), low, high))
        freeze_ticks = round(self.parameters.freeze_s * self.rate_hz)
        if freeze_ticks and self._tick >= self._next_freeze and self._shown is not None:
            self._thaw = self._tick + freeze_ticks
            self._next_freeze = self._thaw + self._draw_pause()
        if self._shown is None or self._tick >= self._thaw:
            self._shown = self._arrived(self._tick - round(self._delay))
        return self._shown[1].copy()

    def _arrived(self, tick: int) -> tuple[int, np.ndarray]:
        """The frame of that tick, or the oldest one there is; the feed never goes back in time."""
        wanted = max(tick, self._frames[0][0], self._shown[0] if self._shown is not None else 0)
        if self._shown is not None and wanted == self._shown[0]:
            return self._shown
        return self._frames[wanted - self._frames[0][0]]
