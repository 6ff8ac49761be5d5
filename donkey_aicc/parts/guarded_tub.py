"""GuardedTub: donkeycar's tub writer with a guard before it, so that recording never ends a drive."""

import logging
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

logger = logging.getLogger(__name__)

PAUSE_S = 1.0  # after a disk that was full: not every tick tries again


class GuardedTub:
    """Donkeycar part in place of its TubWriter: (channels) -> number of records.

    Frames that a JPEG cannot hold are converted, or their record is left out; numbers that are not finite are left out of
    their record. A disk that is full, or gone, costs the records of that time. What was left out is counted and said.
    """

    def __init__(self, writer: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self.writer = writer
        self.tub = writer.tub
        self.left_out = 0
        self._clock = clock
        self._again_at = -math.inf

    def run(self, *values: Any) -> int:
        """The number of records in the tub, also where this one could not be added."""
        if self._clock() < self._again_at:
            self.left_out += 1
        else:
            self._write(values)
        return int(self.tub.manifest.current_index)

    def _write(self, values: tuple[Any, ...]) -> None:
        try:
            self.writer.run(*(fit_for_tub(kind, value) for kind, value in zip(self.tub.types, values, strict=True)))
        except Exception as error:  # donkeycar would end the drive
            if isinstance(error, OSError):
                self._again_at = self._clock() + PAUSE_S
            if not self.left_out:  # once: the next ticks are likely to have the same trouble
                logger.error(f"a record was left out, the drive goes on: {str(error)[:200]}")
            self.left_out += 1

    def __iter__(self) -> Iterator[Any]:
        return iter(self.writer)

    def close(self) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """Close the tub and say what is missing in it."""
        try:
            self.writer.close()
        except Exception as error:
            logger.error(f"the tub could not be closed properly; its records so far can be read: {str(error)[:200]}")
        if self.left_out:
            print(f"{self.left_out} records could not be written and are not in the tub {self.tub.base_path}")


def fit_for_tub(kind: str, value: Any) -> Any:
    """The value as donkeycar's writer takes it for a channel of this kind; None leaves the channel out of the record."""
    if value is None:
        return None
    if kind == "image_array":
        return _frame(value)
    if kind in ("float", "int"):
        return value if math.isfinite(float(value)) else None
    if kind in ("vector", "nparray"):
        return value if np.isfinite(np.asarray(value, dtype=np.float64)).all() else None
    return value


def _frame(value: Any) -> np.ndarray:
    """(H, W) or (H, W, 3) uint8. Without alpha; floats up to 1 are taken as shares of 255."""
    frame = np.asarray(value)
    if frame.ndim == 3 and frame.shape[2] in (1, 2):
        frame = frame[:, :, 0]
    elif frame.ndim == 3 and frame.shape[2] == 4:
        frame = frame[:, :, :3]
    if 0 in frame.shape or not (frame.ndim == 2 or frame.ndim == 3 and frame.shape[2] == 3):
        raise ValueError(f"a frame must have shape (H, W) or (H, W, 1 to 4), got {frame.shape}")
    if frame.dtype == np.uint8:
        return frame
    if frame.dtype.kind == "f" and frame.max() <= 1.0:
        frame = frame * 255.0
    if frame.dtype.kind not in "fiu" or not np.isfinite(frame).all():
        raise ValueError(f"a frame must hold finite numbers, got {frame.dtype}")
    return np.clip(np.rint(frame), 0, 255).astype(np.uint8)
