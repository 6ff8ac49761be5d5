"""From pixels of the overhead video to metres on the floor and back.

The lens bends the picture: radial distortion with one coefficient, measured from something straight in it.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import cv2
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


_FLAT_SHARE = 0.02  # a triangle this much flatter than its longest side counts as a line


class Floor:
    """The homography of at least four clicked points, behind the lens, plus the parallax of a marker above the floor.

    points_px, points_m: (n, 2). camera_m: (x, y, height) of the camera in the floor's frame, needed only when the marker
    is raised: seen from the side, a marker on a roof appears further from the camera's foot point than it is.
    """

    def __init__(
        self,
        points_px: np.ndarray,
        points_m: np.ndarray,
        lens: Lens,
        marker_height_m: float = 0.0,
        camera_m: tuple[float, float, float] | None = None,
    ) -> None:
        points_px, points_m = np.asarray(points_px, float), np.asarray(points_m, float)
        if len(points_px) < 4:
            raise ConfigError(f"floor_points must hold at least 4 points, got {len(points_px)}")
        _refuse_lines(points_px, "pixels")
        _refuse_lines(points_m, "metres")
        self._lens = lens
        ideal = lens.undistort(points_px)
        matrix, _ = cv2.findHomography(ideal, points_m, 0)
        if matrix is None or not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) < 1e-15:
            raise ConfigError("floor_points: no homography fits them; check that pixels and metres are in the same order")
        self._to_metres, self._to_pixels = matrix, np.linalg.inv(matrix)
        self._check_sense(ideal)
        self._front = float(np.sign(points_m[0] @ self._to_pixels[2, :2] + self._to_pixels[2, 2]))
        self._camera_m, self._shrink = _parallax(marker_height_m, camera_m)
        self.residual_m = float(np.sqrt(np.mean(np.sum((self.to_floor(points_px) - points_m) ** 2, axis=1))))
        if self.residual_m > 0.1 * float(np.hypot(*np.ptp(points_m, axis=0))):
            raise ConfigError(f"floor_points contradict each other by {self.residual_m:.2f} m; check pixels against metres")

    def to_floor(self, px: np.ndarray) -> np.ndarray:
        """(..., 2) pixels -> (..., 2) metres of the floor seen there."""
        return _apply(self._to_metres, self._lens.undistort(px))

    def to_marker(self, px: np.ndarray) -> np.ndarray:
        """(..., 2) pixels -> (..., 2) metres of the marker seen there, its height taken into account."""
        seen = self.to_floor(px)
        return self._camera_m + (seen - self._camera_m) * self._shrink

    def to_pixel(self, xy: np.ndarray) -> np.ndarray:
        """(..., 2) metres on the floor -> (..., 2) pixels of the video, perhaps outside of it; NaN behind the camera."""
        xy = np.asarray(xy, float)
        ideal = _apply(self._to_pixels, xy)
        behind = (xy @ self._to_pixels[2, :2] + self._to_pixels[2, 2]) * self._front <= 0
        return self._lens.distort(np.where(behind[..., None], np.nan, ideal))

    def square_metres_per_pixel(self, px: np.ndarray) -> np.ndarray:
        """(n, 2) pixels -> (n,) floor area that one pixel covers there."""
        px = np.asarray(px, float).reshape(-1, 2)
        right = self.to_floor(px + (0.5, 0.0)) - self.to_floor(px - (0.5, 0.0))
        down = self.to_floor(px + (0.0, 0.5)) - self.to_floor(px - (0.0, 0.5))
        return np.abs(right[:, 0] * down[:, 1] - right[:, 1] * down[:, 0])

    def _check_sense(self, ideal_px: np.ndarray) -> None:
        """x right, y up in the floor's frame and rows counted downwards: the map must turn the plane over exactly once."""
        scale = np.column_stack([ideal_px, np.ones(len(ideal_px))]) @ self._to_metres[2]
        if not (np.all(scale > 0) or np.all(scale < 0)):
            raise ConfigError("floor_points do not match their metres: two of them seem to be swapped")
        # The Jacobian's determinant is det(H) / scale^3.
        if np.linalg.det(self._to_metres) / scale[0] ** 3 > 0:
            raise ConfigError(
                "floor_points are mirrored: seen from above, y must be counter-clockwise from x "
                "(x to the right, y up); check the signs of the metres, or two points are swapped"
            )


def _apply(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    homogeneous = points @ matrix[:, :2].T + matrix[:, 2]
    return homogeneous[..., :2] / homogeneous[..., 2:]


def _refuse_lines(points: np.ndarray, unit: str) -> None:
    """Four points need no three on a line; more points must at least not all lie on one."""
    if not np.isfinite(points).all():
        raise ConfigError(f"floor_points: the {unit} must be numbers, got {points.tolist()}")
    if len(points) == 4:
        for rows in combinations(range(4), 3):
            if _flatness(points[list(rows)]) < _FLAT_SHARE:
                names = ", ".join(str(row + 1) for row in rows)
                raise ConfigError(f"floor_points {names} lie on one line (in {unit}); no three of the four may")
    elif _flatness(points) < _FLAT_SHARE:
        raise ConfigError(f"floor_points all lie on one line (in {unit}); spread them over the floor")


def _flatness(points: np.ndarray) -> float:
    along, across = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[:2]
    return float(across / along) if along > 0 else 0.0


def _parallax(height_m: float, camera_m: tuple[float, float, float] | None) -> tuple[np.ndarray, float]:
    if not 0 <= height_m < 2:
        raise ConfigError(f"marker height_m must be from 0 to 2 m, got {height_m}")
    if height_m == 0:
        return np.zeros(2), 1.0
    if camera_m is None:
        raise ConfigError(f"marker height_m is {height_m:g}: camera_m must say where the camera is, as [x, y, height] in metres")
    if not camera_m[2] > height_m:
        raise ConfigError(f"camera_m: the camera's height must exceed the marker's {height_m:g} m, got {camera_m[2]:g}")
    return np.array(camera_m[:2], float), 1.0 - height_m / camera_m[2]
