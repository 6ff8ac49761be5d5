"""How a car moved along a tracked path, and how its commands say it should have: signals that can be laid over each other."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation, gaussian_filter1d
from scipy.signal import lfilter

STEP_S = 0.04  # of every signal
_FINE_S = 0.01  # of the grid on which they are computed
SMOOTH_S = 0.08  # Gaussian on both sides alike, so that it shifts nothing
SLOW_S = 0.8  # Gaussian whose mean is taken away: play in the steering and a tired battery drift slower than commands change
REST_S = 3.0  # how long a car that starts from rest is taken to have stood
_OUTSTANDING = 3.0  # times the usual size
_SLOWEST_MPS = 0.25  # below it the direction of travel is noise
_LONGEST_HOLE_S = 0.2  # a missing piece of path up to this long is bridged
_LONGEST_HOLD_S = 0.5  # a command counts until the next one, but not longer than this


@dataclass(frozen=True, eq=False)
class Signal:
    """A value every STEP_S, NaN where unknown."""

    start_s: float
    values: np.ndarray  # (n,)

    @property
    def times_s(self) -> np.ndarray:
        """(n,)"""
        return self.start_s + STEP_S * np.arange(len(self.values))

    def at(self, times_s: np.ndarray) -> np.ndarray:
        """(m,) linear in between, NaN outside and beside unknown values."""
        position = (np.asarray(times_s) - self.start_s) / STEP_S
        below = np.floor(position).astype(int)
        inside = (below >= 0) & (below < len(self.values) - 1)
        first = np.where(inside, below, 0)
        share = position - below
        found = (1 - share) * self.values[first] + share * self.values[np.minimum(first + 1, len(self.values) - 1)]
        return np.where(inside, found, np.nan)


def quick_part(values: np.ndarray) -> np.ndarray:
    """(n,) at STEP_S minus their mean over a second or two around each, NaN where unknown.

    What stands out far from the rest is cut back: else a single start or stop would outweigh the whole drive.
    """
    known = np.isfinite(values)
    width = SLOW_S / STEP_S
    weight = gaussian_filter1d(known.astype(float), width, mode="constant", truncate=2.5)
    mean = gaussian_filter1d(np.where(known, values, 0.0), width, mode="constant", truncate=2.5)
    quick = values - mean / np.maximum(weight, 1e-9)
    if not known.any():
        return quick
    usual = 1.48 * float(np.median(np.abs(quick[known])))
    return np.clip(quick, -_OUTSTANDING * usual, _OUTSTANDING * usual)


def path_motion(times_s: np.ndarray, xy: np.ndarray) -> tuple[Signal, Signal]:
    """Speed (m/s) and curvature to the right (1/m) of a path with NaN where it was not seen."""
    seen = np.isfinite(xy[:, 0])
    known_s, known = times_s[seen], xy[seen]
    grid = np.arange(known_s[0], known_s[-1], _FINE_S)
    place = np.stack([np.interp(grid, known_s, known[:, axis]) for axis in range(2)], axis=1)
    width = SMOOTH_S / _FINE_S
    velocity = gaussian_filter1d(place, width, axis=0, order=1, mode="nearest") / _FINE_S
    acceleration = gaussian_filter1d(place, width, axis=0, order=2, mode="nearest") / _FINE_S**2
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    turning = velocity[:, 1] * acceleration[:, 0] - velocity[:, 0] * acceleration[:, 1]
    curvature = turning / np.maximum(speed, _SLOWEST_MPS) ** 3
    unsure = _hole_mask(grid, known_s)
    speed = np.where(unsure, np.nan, speed)
    curvature = np.where(unsure | (speed < _SLOWEST_MPS), np.nan, curvature)
    stride = round(STEP_S / _FINE_S)
    return Signal(float(grid[0]), speed[::stride]), Signal(float(grid[0]), curvature[::stride])


def command_response(times_s: np.ndarray, command: np.ndarray, lags_s: tuple[float, ...], from_rest: bool = False) -> Signal:
    """What a command, held until the next one, makes of a car that follows with first-order lags one behind the other.

    from_rest: the car stood before the first command, else it had been driving by that command for long.
    """
    start_s = float(times_s[0]) - (REST_S if from_rest else 0.0)
    grid = np.arange(start_s, times_s[-1] + _LONGEST_HOLD_S, _FINE_S)
    holding = np.clip(np.searchsorted(times_s, grid, side="right") - 1, 0, len(times_s) - 1)
    before = grid < times_s[0]
    values = np.where(before, 0.0, command[holding])
    for lag_s in lags_s:
        keep = float(np.exp(-_FINE_S / lag_s))
        values, _ = lfilter([1.0 - keep], [1.0, -keep], values, zi=[keep * values[0]])
    stale = (grid - times_s[holding] > _LONGEST_HOLD_S) & ~before
    smooth = np.where(stale, np.nan, gaussian_filter1d(values, SMOOTH_S / _FINE_S, mode="nearest"))
    return Signal(start_s, smooth[:: round(STEP_S / _FINE_S)])


def _hole_mask(grid: np.ndarray, known_s: np.ndarray) -> np.ndarray:
    """(n,) bool: in a hole of the path that is too long to bridge, or so near to one or to an end that smoothing feels it."""
    after = np.clip(np.searchsorted(known_s, grid), 1, len(known_s) - 1)
    hole = known_s[after] - known_s[after - 1] > _LONGEST_HOLE_S
    hole[[0, -1]] = True
    return binary_dilation(hole, iterations=round(3 * SMOOTH_S / _FINE_S))
