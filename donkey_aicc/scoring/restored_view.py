"""Restored views: a picture that a fault has changed, brought back to what the predictor knows; the world model says when.

The predictor saw nominal pictures only. In the dark it is blind, although the picture still holds the track: without single
wild pixels (a median of 3 x 3), and with each colour channel brought back to its nominal mean and spread, it sees again. On
other pictures the same change may do harm. So the world model, which was never told what is safe, judges both: the picture that
it rebuilds with a more usual error is the better one. No label is needed and no net is trained.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.engine import Engine
from donkey_aicc.nets.preprocess import frames_in, images_to_array

CHECK_EVERY = 5  # frames: a check costs one more pass of the world model's eyes
CHECKS = 4  # whose mean decides, about the last second at 20 Hz
FULL_AT = 1.0  # nominal deviations by which the restored picture's error is more usual, to replace the other; below, they blend
MEASURED_ON = 400  # calibration frames, evenly spaced
_FLAT = 2e-3  # a channel that spreads less than half a step of 8 bits holds nothing that could be stretched
_BATCH = 50


@dataclass(frozen=True)
class Restoration:
    """What is nominal of a picture: mean and spread of its red, green and blue, and the log error with which it is rebuilt."""

    mean: tuple[float, float, float]
    spread: tuple[float, float, float]
    log_error: float
    log_error_spread: float

    @classmethod
    def measure(cls, engine: Engine, pictures: Sequence[np.ndarray]) -> "Restoration":
        """pictures: (N, 64, 64, 3) uint8 of nominal drives."""
        lengths = [len(each) for each in pictures]
        chosen = np.unique(np.linspace(0, sum(lengths) - 1, min(MEASURED_ON, sum(lengths))).astype(int))
        starts = np.cumsum([0, *lengths])
        owner = np.searchsorted(starts, chosen, side="right") - 1
        frames = images_to_array(np.stack([pictures[own][row - starts[own]] for own, row in zip(owner, chosen, strict=True)]))
        errors = np.log(np.concatenate([rebuilding_error(engine, frames[i : i + _BATCH]) for i in range(0, len(frames), _BATCH)]))
        mean, spread = (
            frames.mean(axis=(2, 3), dtype=np.float64).mean(axis=0),
            frames.std(axis=(2, 3), dtype=np.float64).mean(axis=0),
        )
        deviation = max(float(errors.std()), 1e-3)
        return cls(tuple(mean.tolist()), tuple(spread.tolist()), float(errors.mean()), deviation)

    def view(self, images: np.ndarray) -> np.ndarray:
        """(B, 3, H, W) in [0, 1] -> the median of each 3 x 3, each channel with its nominal mean and spread, clipped."""
        calm = np.stack([_median(image) for image in images])
        mean, spread = calm.mean(axis=(2, 3), keepdims=True), calm.std(axis=(2, 3), keepdims=True)
        wanted, usual = (np.array(x, dtype=np.float32).reshape(1, 3, 1, 1) for x in (self.spread, self.mean))
        restored = (calm - mean) * (wanted / np.maximum(spread, np.float32(_FLAT))) + usual
        return np.clip(restored, 0.0, 1.0, out=restored)

    def inputs(self, x: np.ndarray) -> np.ndarray:
        """The predictor's input (B, C, H, W) with every frame in it restored; commands stay."""
        frames = 3 * frames_in(x.shape[1])
        pictures = self.view(x[:, :frames].reshape(-1, 3, *x.shape[2:]))
        return np.concatenate([pictures.reshape(len(x), frames, *x.shape[2:]), x[:, frames:]], axis=1)

    def advantage(self, error: np.ndarray, restored_error: np.ndarray) -> np.ndarray:
        """(L,) MSE each -> (L,) nominal deviations by which the restored picture's error is the more usual one."""
        plain, restored = (np.abs(np.log(np.maximum(x, 1e-12)) - self.log_error) for x in (error, restored_error))
        return np.asarray((plain - restored) / self.log_error_spread)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Any) -> "Restoration":
        """What `to_json` wrote; a picture that would be turned round or wiped out is refused."""
        names = [field.name for field in fields(cls)]
        if not isinstance(stored, dict) or set(stored) != set(names):
            raise AiccError(f"a restoration must be a table with {', '.join(names)}; got {stored!r}")
        found = cls(
            _three(stored["mean"]), _three(stored["spread"]), float(stored["log_error"]), float(stored["log_error_spread"])
        )
        inside = all(0.0 <= value <= 1.0 for value in found.mean) and all(0.0 < value <= 0.5 for value in found.spread)
        if not (inside and np.isfinite(found.log_error) and 0.0 < found.log_error_spread < np.inf):
            raise AiccError(f"a restoration needs means in 0..1, spreads in 0..0.5 and a finite error, got {stored!r}")
        return found


def _three(values: Any) -> tuple[float, float, float]:
    red, green, blue = (float(value) for value in values)
    return red, green, blue


def _median(image: np.ndarray) -> np.ndarray:
    """(3, H, W) in [0, 1], as it came from 8 bits."""
    pixels = np.rint(image.transpose(1, 2, 0) * np.float32(255.0)).astype(np.uint8)
    return cv2.medianBlur(np.ascontiguousarray(pixels), 3).transpose(2, 0, 1).astype(np.float32) / np.float32(255.0)


def rebuilding_error(engine: Engine, images: np.ndarray) -> np.ndarray:
    """(B, 3, 64, 64) -> (B,) MSE between each picture and what the world model makes of it."""
    difference = engine.decode(engine.encode(images)) - images
    return np.square(difference).mean(axis=(1, 2, 3), dtype=np.float64)


@dataclass(frozen=True)
class Check:
    """What the world model found at one frame of a sequence: how much of the restored view counts from `since` on, per lane."""

    since: int
    share: np.ndarray


class RestorationChecks:
    """L lanes that start together: every few frames, how much of the restored view the predictor shall take.

    A check counts from the time on at which the next one is due. So the predictor, which goes before the world model in every
    tick, takes the same share on the car as in a replay, as long as the scorer is no more than that late.
    """

    def __init__(self, engine: Engine, restoration: Restoration, lanes: int) -> None:
        self._engine, self._restoration = engine, restoration
        self.reset(lanes)

    def reset(self, lanes: int) -> None:
        """New sequences; the next frame is number 0."""
        self._advantages: deque[np.ndarray] = deque(maxlen=CHECKS)
        self._frame = 0
        self.newest: tuple[Check, ...] = (Check(0, np.zeros(lanes)),)  # the last two

    def update(self, images: np.ndarray, error: np.ndarray, unseen: int = 0) -> None:
        """images (L, 3, 64, 64) of the next frame, and the error (L,) with which it was rebuilt."""
        number = self._frame + unseen
        due = number // CHECK_EVERY > (self._frame - 1) // CHECK_EVERY
        self._frame = number + 1
        if not due:
            return
        restored = rebuilding_error(self._engine, self._restoration.view(images))
        self._advantages.append(self._restoration.advantage(error, restored))
        share = np.clip(np.mean(self._advantages, axis=0) / FULL_AT, 0.0, 1.0)
        self.newest = (self.newest[-1], Check(number + CHECK_EVERY, share))

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._advantages = deque((each[lanes] for each in self._advantages), maxlen=CHECKS)
        self.newest = tuple(Check(check.since, check.share[lanes]) for check in self.newest)


def share_at(checks: Sequence[Check], number: int) -> np.ndarray | None:
    """(L,) what counts at that frame; None before any check does."""
    return next((check.share for check in reversed(checks) if check.since <= number), None)
