"""What a safety predictor with history looks at: a few frames of the last moments and the steering sent with them.

The same code stacks the input while training, scoring and driving. At the start of a sequence, where the past is missing, the
first frame and its steering stand for it. The throttle is left out: on the car a governor may still lower it after the
prediction, and a replayed tub would then show the net something else than the car did.
"""

from typing import Any

import numpy as np

from donkey_aicc.nets.preprocess import ActionStats

LAGS = (0, 2, 5)  # frames back, the newest first; 0.1 s and 0.25 s at 20 Hz
NO_HISTORY = (0,)
CHANGE_GAIN = 2.0  # pictures a few frames apart differ little
_COMMANDS = 1  # steering


def input_channels(lags: tuple[int, ...]) -> int:
    """Channels of the predictor's input: three per frame, and with history a plane of steering per frame."""
    return 3 if lags == NO_HISTORY else (3 + _COMMANDS) * len(lags)


def frames_in(channels: int) -> int:
    """How many frames an input with so many channels holds; they come first, three channels each."""
    return 1 if channels == 3 else channels // (3 + _COMMANDS)


def stacked(frames: np.ndarray, commands: np.ndarray, stats: ActionStats) -> np.ndarray:
    """frames (B, n, 64, 64, 3) uint8, newest first, commands (B, n, 2) as sent -> (B, C, 64, 64) float32.

    Frames in [0, 1]; steering in its own training spread, each as a plane of equal values. One frame alone has no plane.
    """
    batch, count, height, width, _ = frames.shape
    pictures = frames.transpose(0, 1, 4, 2, 3).reshape(batch, 3 * count, height, width).astype(np.float32)
    pictures /= np.float32(255.0)
    if count == 1:
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

    def __init__(self, lags: tuple[int, ...], stats: ActionStats) -> None:
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
