"""Radial lens distortion with one coefficient, and how to measure it from something straight in the picture."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from donkey_aicc.errors import ConfigError

# Below -4/27 the distortion folds the picture's corners over themselves and cannot be undone.
K1_RANGE = (-0.14, 0.3)


class Lens:
    """distorted = ideal * (1 + k1 r^2), r = ideal distance from the picture's middle over half its diagonal.

    k1 = -0.05 (barrel) pulls the corners 5 % towards the middle. Pixels are (..., 2) float (column, row), centres at whole
    numbers.
    """

    def __init__(self, size_px: tuple[int, int], k1: float = 0.0) -> None:
        if not (isinstance(k1, int | float) and K1_RANGE[0] <= k1 <= K1_RANGE[1]):
            raise ConfigError(f"lens_k1 must be a number from {K1_RANGE[0]} to {K1_RANGE[1]}, got {k1!r}")
        self.k1 = float(k1)
        self._middle = 0.5 * (np.array(size_px, float) - 1.0)
        self._unit_px = 0.5 * math.hypot(*size_px)

    def undistort(self, px: np.ndarray) -> np.ndarray:
        """Pixels of the video -> pixels of an ideal camera."""
        offset = (np.asarray(px, float) - self._middle) / self._unit_px
        distorted = np.hypot(offset[..., 0], offset[..., 1])
        ideal = distorted.copy()
        for _ in range(12):  # Newton; the radius is monotone in the allowed range of k1
            slope = np.maximum(1.0 + 3.0 * self.k1 * ideal**2, 0.05)
            ideal -= (ideal * (1.0 + self.k1 * ideal**2) - distorted) / slope
        stretch = np.where(distorted > 1e-12, ideal / np.maximum(distorted, 1e-12), 1.0)
        return self._middle + self._unit_px * offset * stretch[..., None]

    def distort(self, px: np.ndarray) -> np.ndarray:
        """Pixels of an ideal camera -> pixels of the video."""
        offset = (np.asarray(px, float) - self._middle) / self._unit_px
        squared = np.sum(offset**2, axis=-1, keepdims=True)
        if self.k1 < 0:  # far outside of the picture the formula would lead back into it
            squared = np.minimum(squared, -1.0 / (3.0 * self.k1))
        return self._middle + self._unit_px * offset * (1.0 + self.k1 * squared)


def estimate_k1(size_px: tuple[int, int], lines_px: Sequence[np.ndarray]) -> float:
    """The k1 that makes clicked points of straight things (three or more (n, 2) pixels each) lie on straight lines."""
    lines = [np.asarray(line, float).reshape(-1, 2) for line in lines_px]
    if not lines or any(len(line) < 3 for line in lines):
        raise ConfigError(f"a straight line for the lens needs at least 3 points, got {min(map(len, lines), default=0)}")
    reach = max(float(np.hypot(*np.ptp(line, axis=0))) for line in lines)
    if reach < 0.3 * max(size_px):
        raise ConfigError(f"the straight line must span at least 30 % of the picture to show the lens, got {reach:.0f} px")

    def bend(k1: float) -> float:
        lens = Lens(size_px, k1)
        return sum(_squared_distance_to_line(lens.undistort(line)) for line in lines)

    return float(minimize_scalar(bend, bounds=K1_RANGE, method="bounded", options={"xatol": 1e-5}).x)


def _squared_distance_to_line(points: np.ndarray) -> float:
    """Sum over points of the squared distance to their best line, relative to its length (else shrinking would pay)."""
    centred = points - points.mean(axis=0)
    along, across = np.linalg.svd(centred, compute_uv=False)[:2]
    return float(across**2 / max(along**2, 1e-12))
