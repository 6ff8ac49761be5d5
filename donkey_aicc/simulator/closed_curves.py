"""Smooth closed curves through points, with numpy alone: a car that only drives installs no scipy."""

import numpy as np

_REACH = 4.0  # standard deviations at which the bell is cut off


class ClosedSpline:
    """The cubic spline through (K + 1, D) points at growing knots, whose last point is its first; smooth there too."""

    def __init__(self, knots: np.ndarray, points: np.ndarray) -> None:
        self._knots, width = np.asarray(knots, dtype=np.float64), np.diff(knots)[:, None]
        slope = np.diff(points, axis=0) / width
        # The speeds at the knots: those for which each piece bends into the next, a ring of equations with three unknowns each.
        count, here, before = len(width), np.arange(len(width)), np.roll(width, 1)
        ring = np.zeros((count, count))
        np.add.at(ring, (here, here - 1), width[:, 0])
        np.add.at(ring, (here, here), 2.0 * (width + before)[:, 0])
        np.add.at(ring, (here, (here + 1) % count), before[:, 0])
        speed = np.linalg.solve(ring, 3.0 * (width * np.roll(slope, 1, axis=0) + before * slope))
        excess = (speed + np.roll(speed, -1, axis=0) - 2.0 * slope) / width
        self._powers = excess / width, (slope - speed) / width - excess, speed, np.asarray(points, dtype=np.float64)

    def __call__(self, at: np.ndarray, order: int = 0) -> np.ndarray:
        """(N, D) places, or their first or second derivatives, at (N,) values between the first and last knot."""
        piece = np.clip(np.searchsorted(self._knots, at, side="right") - 1, 0, len(self._knots) - 2)
        gone = (at - self._knots[piece])[:, None]
        cubic, square, linear, constant = (power[piece] for power in self._powers)
        if order == 2:
            return 6.0 * cubic * gone + 2.0 * square
        if order == 1:
            return 3.0 * cubic * gone**2 + 2.0 * square * gone + linear
        return cubic * gone**3 + square * gone**2 + linear * gone + constant


def smoothed(points: np.ndarray, sigma: float) -> np.ndarray:
    """(N, D) points of a closed line, each the mean of those around it under a bell of sigma places."""
    reach = round(_REACH * sigma)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    around = np.pad(points, ((reach, reach), (0, 0)), mode="wrap")
    return np.stack([np.convolve(column, bell / bell.sum(), mode="valid") for column in around.T], axis=1)
