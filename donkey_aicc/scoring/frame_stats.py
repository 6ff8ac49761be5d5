"""Plain numbers of every single frame: how bright, how sharp, how it moved. What the alarm looks at over short windows.

They have no memory beyond the frame before, so that what they tell of a fault is over when the fault is. Whoever needs more
keeps the last n values of a stream in a ring: always one ordered, contiguous window.
"""

import numpy as np


class Ring:
    """Holds the last `capacity` values of each lane.

    Every value is stored twice, `capacity` apart, so that the window is a plain slice in order of time. Sums are taken
    from the window and never kept running, so nothing drifts however long the car drives.
    """

    def __init__(self, lanes: int, capacity: int, shape: tuple[int, ...] = (), dtype: type = np.float64) -> None:
        self._values: np.ndarray = np.zeros((lanes, 2 * capacity, *shape), dtype=dtype)
        self._capacity = capacity
        self._seen = 0

    def append(self, values: np.ndarray, unseen: int = 0) -> None:
        """values: (lanes, *shape), the newest of each lane. `unseen` values before it are drawn as a line from the last one."""
        if unseen:
            last = self.window()[:, -1] if self._seen else values
            for share in np.arange(1, unseen + 1) / (unseen + 1):
                self._put(last + share * (values - last))
        self._put(values)

    def _put(self, values: np.ndarray) -> None:
        slot = self._seen % self._capacity
        self._values[:, slot] = values
        self._values[:, slot + self._capacity] = values
        self._seen += 1

    def window(self) -> np.ndarray:
        """(lanes, n, *shape) with n = min(seen, capacity), oldest first; a view that the next append may change."""
        if self._seen < self._capacity:
            return self._values[:, : self._seen]
        start = self._seen % self._capacity
        return self._values[:, start : start + self._capacity]

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._values = self._values[lanes]


FRAME_STATS = (
    "log_error",  # log of the reconstruction MSE
    "light",  # log of the mean luminance
    "contrast",  # log of the luminance's spread over the mean luminance
    "sharpness",  # log of the mean gradient over the luminance's spread
    "colour",  # log of the mean colourfulness over the mean luminance
    "motion",  # log of the mean change from the frame before, over the luminance's spread; NaN behind a repeated picture
    "repeated",  # 1: the same picture as the frame before
    "turn_px",  # sideways movement of its far part since the frame before, pixels, positive to the right; NaN likewise
)
FAR_SHARE = 0.375  # of the rows from the top: what is far away moves sideways only when the car turns, the floor always does
LARGEST_TURN_PX = 6.0
_FLOOR = 2e-3  # of luminance in 0..1: below half a step of 8 bits there is nothing to measure
_SMOOTH_PX = 5  # a sideways movement of a few pixels is measured on slopes at least that wide


class FrameStats:
    """(L, len(FRAME_STATS)) per frame of L lanes. What needs a frame before it is NaN in the first one."""

    def __init__(self) -> None:
        self._last: np.ndarray | None = None
        self._was_repeated: np.ndarray | None = None

    def update(self, images: np.ndarray, error: np.ndarray) -> np.ndarray:
        """images: (L, 3, H, W) float in [0, 1]; error: (L,) reconstruction MSE."""
        grey = images.mean(axis=1, dtype=np.float64)
        mean, spread = grey.mean(axis=(1, 2)) + _FLOOR, grey.std(axis=(1, 2)) + _FLOOR
        slope = np.abs(np.diff(grey, axis=2)).mean(axis=(1, 2)) + np.abs(np.diff(grey, axis=1)).mean(axis=(1, 2))
        colour = (images.max(axis=1) - images.min(axis=1)).mean(axis=(1, 2), dtype=np.float64)
        change, repeated, turn = (np.full(len(grey), np.nan) for _ in range(3))
        if self._last is not None:
            change = np.abs(grey - self._last).mean(axis=(1, 2))
            repeated = (change == 0.0).astype(np.float64)
            far = round(FAR_SHARE * grey.shape[1])
            turn = sideways_shift(self._last[:, :far], grey[:, :far])
            # A picture that was lost or late measures nothing, and the next one moves as two do.
            unknown = (repeated == 1.0) | (False if self._was_repeated is None else self._was_repeated)
            turn[unknown] = change[unknown] = np.nan
            self._was_repeated = repeated == 1.0
        self._last = grey
        columns = (
            np.log(np.maximum(error, 1e-12)),
            np.log(mean),
            np.log(spread / mean),
            np.log((slope + 0.1 * _FLOOR) / spread),
            np.log((colour + _FLOOR) / mean),
            np.log((change + 0.1 * _FLOOR) / spread),
            repeated,
            turn,
        )
        return np.stack(columns, axis=1)

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        if self._last is not None:
            self._last = self._last[lanes]
        if self._was_repeated is not None:
            self._was_repeated = self._was_repeated[lanes]


def sideways_shift(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(L, H, W) each -> (L,) pixels by which the picture moved to the right: least squares on its sideways slopes."""
    before, after = _smoothed(before), _smoothed(after)
    slope = np.gradient(0.5 * (before + after), axis=2)
    energy = (slope**2).sum(axis=(1, 2))
    shift = -((after - before) * slope).sum(axis=(1, 2)) / np.maximum(energy, 1e-9)
    return np.clip(np.where(energy > 1e-9, shift, 0.0), -LARGEST_TURN_PX, LARGEST_TURN_PX)


def _smoothed(pictures: np.ndarray) -> np.ndarray:
    """Running mean along the rows; the edges that it does not reach are left out."""
    total = np.cumsum(pictures, axis=2)
    return (total[:, :, _SMOOTH_PX:] - total[:, :, :-_SMOOTH_PX]) / _SMOOTH_PX
