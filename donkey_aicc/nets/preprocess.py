"""From camera frames and commands to model input; the same code trains, scores and drives.

A safety predictor with history looks at a few frames of the last moments and the steering sent with them. At the start of a
sequence, where the past is missing, the first frame and its steering stand for it. The throttle is left out: on the car a
governor may still lower it after the prediction, and a replayed tub would then show the net something else than the car did.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError

if TYPE_CHECKING:
    import torch

# Sizes of the nets, for code that runs without torch.
IMAGE_SIZE = 64
LATENT_CHANNELS = 64
LATENT_SIDE = 4
LATENT_SHAPE = (LATENT_CHANNELS, LATENT_SIDE, LATENT_SIDE)
POSITIONS = LATENT_SIDE * LATENT_SIDE  # of the latent map, row by row

HIDDEN = 128  # channels of each ConvLSTM layer
LAYERS = 2
GATES = 4
ACTION_CHANNELS = 32
RECURRENT_DROPOUT = 0.15
BETWEEN_DROPOUT = 0.3

FIRST_SIZE, FEATURE_SIZE = 512, 128  # of the safety predictor's first two fully connected layers
PREDICTOR_DROPOUT = 0.3  # behind both

STD_FLOOR = 0.05  # a constant throttle has no spread; dividing by less would turn noise into a signal

JPEG_QUALITY = 75  # with which donkeycar's tub stores a frame
FLOAT_TOLERANCE = 1e-3  # rounding of an earlier float pipeline may overshoot [0, 1] by this much


def to_model_image(frame: np.ndarray) -> np.ndarray:
    """(64, 64, 3) uint8 RGB by area interpolation from a grey (H, W) or (H, W, 1), RGB or RGBA frame.

    The dtype decides the range: uint8 is 0..255, any float is 0..1. Alpha is dropped. The result is always a new array.
    """
    _check_shape(frame)
    pixels = _as_uint8(frame)
    if pixels.ndim == 3 and pixels.shape[2] == 4:
        pixels = pixels[:, :, :3]
    if pixels.shape[:2] != (IMAGE_SIZE, IMAGE_SIZE):
        pixels = cv2.resize(np.ascontiguousarray(pixels), (IMAGE_SIZE, IMAGE_SIZE), interpolation=cv2.INTER_AREA)
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    return np.array(pixels, order="C")


_REDUCED = {
    2: (cv2.IMREAD_REDUCED_GRAYSCALE_2, cv2.IMREAD_REDUCED_COLOR_2),
    4: (cv2.IMREAD_REDUCED_GRAYSCALE_4, cv2.IMREAD_REDUCED_COLOR_4),
    8: (cv2.IMREAD_REDUCED_GRAYSCALE_8, cv2.IMREAD_REDUCED_COLOR_8),
}


def decode_jpeg(data: np.ndarray, height: int, width: int, colour: bool) -> np.ndarray | None:
    """A grey or BGR picture of the stored size, decoded smaller where twice the nets' size is left: half the time at 1280x720."""
    reduced = next((each for each in (8, 4, 2) if min(height, width) // each >= 2 * IMAGE_SIZE), 1)
    flags = cv2.IMREAD_UNCHANGED if reduced == 1 else _REDUCED[reduced][colour] | cv2.IMREAD_IGNORE_ORIENTATION
    return cv2.imdecode(data, flags)


def as_recorded(frame: np.ndarray) -> np.ndarray:
    """The frame as it is read from a tub: compressed and decoded again, (H, W[, 3]) uint8; a large one is decoded smaller.

    The nets and the calibrator know only recorded frames. A fresh one is a little less sharp and is rebuilt a little worse, which
    live would look like a mild anomaly in every frame.
    """
    _check_shape(frame)
    pixels = np.ascontiguousarray(_as_uint8(frame))
    colour = pixels.ndim == 3 and pixels.shape[2] >= 3
    stored = cv2.cvtColor(np.ascontiguousarray(pixels[:, :, :3]), cv2.COLOR_RGB2BGR) if colour else pixels
    _, data = cv2.imencode(".jpg", stored, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    decoded = decode_jpeg(data, stored.shape[0], stored.shape[1], colour)
    return np.asarray(cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB) if colour else decoded)


def _check_shape(frame: Any) -> None:
    if not isinstance(frame, np.ndarray):
        raise AiccError(f"a camera frame must be a numpy array, got {type(frame).__name__}")
    shape_fits = frame.ndim == 2 or (frame.ndim == 3 and frame.shape[2] in (1, 3, 4))
    if not shape_fits or 0 in frame.shape:
        raise AiccError(f"a camera frame must have shape (H, W), (H, W, 1), (H, W, 3) or (H, W, 4), got {frame.shape}")


def _as_uint8(frame: np.ndarray) -> np.ndarray:
    if frame.dtype == np.uint8:
        return frame
    if frame.dtype.kind != "f":
        raise AiccError(f"a camera frame must be uint8 (0..255) or float (0..1), got {frame.dtype}")
    low, high = float(frame.min()), float(frame.max())
    if not (low >= -FLOAT_TOLERANCE and high <= 1 + FLOAT_TOLERANCE):  # also catches NaN
        raise AiccError(f"a float camera frame must lie in 0..1 (pass 0..255 as uint8), got {low:g}..{high:g}")
    return np.rint(np.clip(frame, 0.0, 1.0) * 255.0).astype(np.uint8)


def images_to_array(images: np.ndarray) -> np.ndarray:
    """(N, 3, 64, 64) float32 in [0, 1] from (N, 64, 64, 3) uint8."""
    expected = (IMAGE_SIZE, IMAGE_SIZE, 3)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != expected:
        raise AiccError(f"images must be uint8 (N, {IMAGE_SIZE}, {IMAGE_SIZE}, 3), got {images.dtype} {images.shape}")
    planes = np.ascontiguousarray(images.transpose(0, 3, 1, 2))  # first, while it is four times smaller
    return np.divide(planes, np.float32(255.0), dtype=np.float32)


def images_to_tensor(images: np.ndarray) -> "torch.Tensor":
    """`images_to_array` as a tensor."""
    import torch

    return torch.from_numpy(images_to_array(images))


@dataclass(frozen=True)
class ActionStats:
    """Mean and (floored) standard deviation of (steering, throttle) over the training data."""

    mean: np.ndarray  # (2,) float32
    std: np.ndarray  # (2,) float32, never below STD_FLOOR

    def __post_init__(self) -> None:
        mean, std = (np.asarray(values, dtype=np.float32) for values in (self.mean, self.std))
        if mean.shape != (2,) or std.shape != (2,):
            raise AiccError(f"action statistics must have shape (2,), got mean {mean.shape} and std {std.shape}")
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            raise AiccError(f"action statistics must be finite, got mean {mean.tolist()} and std {std.tolist()}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", np.maximum(std, np.float32(STD_FLOOR)))

    @classmethod
    def fit(cls, actions: np.ndarray) -> "ActionStats":
        """Statistics of (N, 2) actions."""
        actions = np.asarray(actions, dtype=np.float64)
        if actions.ndim != 2 or actions.shape[1] != 2 or not len(actions):
            raise AiccError(f"action statistics need actions of shape (N, 2) with N >= 1, got {actions.shape}")
        return cls(actions.mean(axis=0), actions.std(axis=0))

    def normalise(self, actions: np.ndarray) -> np.ndarray:
        """(..., 2) float32 with about zero mean and unit spread."""
        return ((np.asarray(actions, dtype=np.float32) - self.mean) / self.std).astype(np.float32)

    def to_json(self) -> dict[str, list[float]]:
        return {"mean": [float(value) for value in self.mean], "std": [float(value) for value in self.std]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "ActionStats":
        try:
            return cls(np.array(stored["mean"], dtype=np.float32), np.array(stored["std"], dtype=np.float32))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, AiccError):
                raise
            raise AiccError(f"action statistics must hold mean and std with two numbers each, got {stored!r}") from error


LAGS = (0, 2, 5)  # frames back, the newest first; 0.1 s and 0.25 s at 20 Hz
NO_HISTORY = (0,)
CHANGE_GAIN = 2.0  # pictures a few frames apart differ little
_COMMANDS = 1  # steering


def input_channels(lags: tuple[int, ...], with_steering: bool | None = None) -> int:
    """Channels of the predictor's input: three per frame, and a plane of steering per frame (None: of ours, with history)."""
    steering = lags != NO_HISTORY if with_steering is None else with_steering
    return (3 + _COMMANDS * steering) * len(lags)


def frames_in(channels: int) -> int:
    """How many frames an input with so many channels holds; they come first, three channels each."""
    return 1 if channels == 3 else channels // (3 + _COMMANDS)


def stacked(frames: np.ndarray, commands: np.ndarray, stats: ActionStats | None) -> np.ndarray:
    """frames (B, n, 64, 64, 3) uint8, newest first, commands (B, n, 2) as sent -> (B, C, 64, 64) float32.

    Frames in [0, 1]; steering in its own training spread, each as a plane of equal values, or none of it without `stats`.
    """
    batch, count, height, width, _ = frames.shape
    pictures = frames.transpose(0, 1, 4, 2, 3).reshape(batch, 3 * count, height, width).astype(np.float32)
    pictures /= np.float32(255.0)
    if stats is None:
        return pictures
    numbers = stats.normalise(commands)[:, :, :_COMMANDS].reshape(batch, _COMMANDS * count, 1, 1)
    return np.concatenate([pictures, np.broadcast_to(numbers, (batch, _COMMANDS * count, height, width))], axis=1)


def without_past(x: Any) -> Any:
    """Input (B, C, 64, 64), array or tensor, as if its newest frame were the first of a sequence."""
    frames = frames_in(x.shape[1])
    alone = list(range(3)) * frames + list(range(3 * frames, 3 * frames + _COMMANDS)) * frames
    return x[:, alone]


def lagged(frame: np.ndarray, lags: tuple[int, ...]) -> np.ndarray:
    """(B,) frame numbers of one sequence -> (B, n) numbers of the frames to look at, never before the first."""
    return np.maximum(np.asarray(frame)[:, None] - np.array(lags), 0)


class History:
    """The last frames of L lanes that start together."""

    def __init__(self, lags: tuple[int, ...], stats: ActionStats | None) -> None:
        self._lags, self._stats = lags, stats
        self.reset()

    def reset(self) -> None:
        """The next frame is the first of a new sequence."""
        self._frames: list[np.ndarray] = []
        self._commands: list[np.ndarray] = []

    def push(self, images: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """images (L, 64, 64, 3) uint8 and commands (L, 2) of the next frame -> the predictor's input (L, C, 64, 64)."""
        longest = max(self._lags) + 1
        self._frames = [*self._frames, images][-longest:]
        self._commands = [*self._commands, commands][-longest:]
        chosen = lagged(np.array([len(self._frames) - 1]), self._lags)[0]
        frames = np.stack([self._frames[number] for number in chosen], axis=1)
        return stacked(frames, np.stack([self._commands[number] for number in chosen], axis=1), self._stats)

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._frames = [images[lanes] for images in self._frames]
        self._commands = [commands[lanes] for commands in self._commands]
