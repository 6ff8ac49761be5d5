"""What the faults do: to the frames of the camera, and to the commands between the pilot and the drive train.

On the camera side each takes a frame (H, W[, C]) and hands out a new array: the camera's own is never written to. On the other
side (steering, throttle) go in, and what the drive train really gets comes out.
"""

from collections import deque
from typing import Protocol

import cv2
import numpy as np

from donkey_aicc.faults.corruptions import corrupt
from donkey_aicc.faults.protocols import BiasParameters, BlurParameters, DarkParameters, LatencyParameters

REFERENCE_WIDTH_PX = 160
HALF_SIZE_SIGMA_PX = 2.5
EXPOSURE_RESERVE = 2.5  # how much longer or louder than in usual light a camera can still expose
EXPOSURE_LAG_FRAMES = 8.0
SENSOR_NOISE = 1.4  # grey levels at gain 1
LASTING = ("fog", "frost", "colour_jitter")  # look the same during an episode; noise is drawn anew in every frame


class SensorFault(Protocol):
    """What every camera fault offers."""

    def run(self, image: np.ndarray) -> np.ndarray:
        """The frame of this tick as the faulty sensor shows it."""

    def reset(self) -> None:
        """Start the episode again from its first tick."""


class Dark:
    """Less light, and a camera whose automatic exposure fights it: what it cannot make up stays dark, and gain adds noise."""

    def __init__(self, parameters: DarkParameters, seed: tuple[int, ...] = (0,)) -> None:
        self.factor, self.seed = parameters.luminance_factor, seed
        self._most = min(max(1.0 / self.factor, 1.0), EXPOSURE_RESERVE) if self.factor > 0 else EXPOSURE_RESERVE
        self.reset()

    def reset(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._gain = 1.0

    def run(self, image: np.ndarray) -> np.ndarray:
        brightness = self.factor * self._gain
        if image.dtype != np.uint8:
            return (image * brightness).astype(image.dtype)
        table = np.clip(np.rint(np.arange(256) * brightness), 0, 255).astype(np.uint8)
        darker = cv2.LUT(image, table).reshape(image.shape)
        noise_std = SENSOR_NOISE * (self._gain**2 - 1.0) ** 0.5
        # Rounded to 3 digits, the last bits of a power cannot reach a pixel on another processor.
        self._gain = round(self._gain * (self._most / self._gain) ** (1.0 / EXPOSURE_LAG_FRAMES), 3)
        if noise_std == 0.0:
            return darker
        noise = np.rint(np.float32(noise_std) * self._rng.standard_normal(image.shape, dtype=np.float32))
        return np.clip(darker + noise, 0, 255).astype(np.uint8)


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


class CorruptedFrames:
    """A visual family of D_aug, frame by frame."""

    def __init__(self, family: str, strength: float, seed: tuple[int, ...]) -> None:
        self.family, self.strength, self.seed = family, strength, seed
        self.reset()

    def reset(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def run(self, image: np.ndarray) -> np.ndarray:
        if self.family in LASTING:
            self.reset()
        if image.ndim == 3 and image.shape[2] == 3:
            return corrupt(image, self.family, self.strength, self._rng)
        coloured = np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)  # a grey camera
        return corrupt(coloured, self.family, self.strength, self._rng)[..., :1].reshape(image.shape)


class CommandFault(Protocol):
    """What every command fault offers. Results may leave [-1, 1]: the injector bounds them once, after all faults."""

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        """The command of this tick as the faulty drive train carries it out."""

    def reset(self) -> None:
        """Start the episode again from its first tick."""


class Bias:
    """A lasting offset, steering to one side drawn per episode, plus Gaussian noise on both commands."""

    def __init__(self, parameters: BiasParameters, seed: tuple[int, ...]) -> None:
        self.parameters = parameters
        self.seed = seed
        self.reset()

    def reset(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self.side = 1.0 if self._rng.random() < 0.5 else -1.0

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        of = self.parameters
        steering_noise, throttle_noise = self._rng.normal(0.0, 1.0, 2)
        steering += self.side * of.steering_offset + of.steering_noise_std * steering_noise
        if throttle != 0.0:  # a car told to stand still stays where it is
            throttle += of.throttle_offset + of.throttle_noise_std * throttle_noise
        return float(steering), float(throttle)


class LateCommands:
    """Commands arrive a set time late; until the first one has come through, it is held."""

    def __init__(self, parameters: LatencyParameters, rate_hz: float) -> None:
        self.delay_ticks = round(parameters.command_delay_s * rate_hz)
        self.reset()

    def reset(self) -> None:
        self._waiting: deque[tuple[float, float]] = deque(maxlen=self.delay_ticks + 1)

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        self._waiting.append((float(steering), float(throttle)))
        return self._waiting[0]


class SpeedMismatch:
    """The drive train answers the throttle with more speed than it was set up for."""

    def __init__(self, throttle_factor: float) -> None:
        self.throttle_factor = throttle_factor

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        return float(steering), float(throttle) * self.throttle_factor

    def reset(self) -> None:
        """Nothing is remembered between ticks."""
