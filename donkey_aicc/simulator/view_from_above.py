"""The world seen from the ceiling: the floor, and the car with a coloured marker on its roof."""

import math

import cv2
import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.scenery import scenery_of
from donkey_aicc.simulator.track import Track

BODY_LENGTH_M, BODY_WIDTH_M = 0.30, 0.18
MARKER_M = 0.11  # side of the square marker; its middle is the car's reference point (rear axle)
_BODY_RGB = (38, 38, 42)
_NOSE_RGB = (235, 235, 235)
_SUBPIXEL_BITS = 4


class OverheadCamera:
    """Looks straight down; the whole arena fits into the picture with its true proportions."""

    def __init__(self, track: Track, width_px: int = 640, height_px: int = 480):
        for name, value in (("width_px", width_px), ("height_px", height_px)):
            if not isinstance(value, int) or not 32 <= value <= 4096:
                raise ConfigError(f"overhead camera {name} must be a whole number from 32 to 4096, got {value!r}")
        xmin, ymin, xmax, ymax = track.arena
        self.pixels_per_m = min(width_px / (xmax - xmin), height_px / (ymax - ymin))
        # The arena is centred; pixel centres are at whole numbers.
        self._left = 0.5 * (width_px - 1) - self.pixels_per_m * 0.5 * (xmin + xmax)
        self._top = 0.5 * (height_px - 1) + self.pixels_per_m * 0.5 * (ymin + ymax)
        self._floor = self._draw_floor(track, width_px, height_px)

    def world_to_pixel(self, xy: np.ndarray) -> np.ndarray:
        """(..., 2) metres -> (..., 2) pixels (column, row), float."""
        xy = np.asarray(xy, float)
        return np.stack([self._left + self.pixels_per_m * xy[..., 0], self._top - self.pixels_per_m * xy[..., 1]], axis=-1)

    def render(self, x: float, y: float, yaw: float, marker_rgb: tuple[int, int, int] = (255, 0, 200)) -> np.ndarray:
        """(height_px, width_px, 3) uint8 RGB with the car at (x, y) metres, facing yaw."""
        image = self._floor.copy()
        rear = 0.5 * (BODY_LENGTH_M - 0.17)  # overhang behind the rear axle
        self._fill(image, (x, y, yaw), (-rear, BODY_LENGTH_M - rear), BODY_WIDTH_M, _BODY_RGB)
        self._fill(image, (x, y, yaw), (BODY_LENGTH_M - rear - 0.03, BODY_LENGTH_M - rear), BODY_WIDTH_M, _NOSE_RGB)
        self._fill(image, (x, y, yaw), (-0.5 * MARKER_M, 0.5 * MARKER_M), MARKER_M, marker_rgb)
        return image

    def _draw_floor(self, track: Track, width_px: int, height_px: int) -> np.ndarray:
        scenery = scenery_of(track)
        texels_per_pixel = scenery.to_pixel[0, 0] / self.pixels_per_m
        level = min(max(0, round(math.log2(max(1.0, texels_per_pixel)))), len(scenery.floor_mips) - 1)
        world_from_pixel = np.array([[1.0, 0.0, -self._left], [0.0, -1.0, self._top], [0.0, 0.0, self.pixels_per_m]])
        matrix = np.diag([0.5**level, 0.5**level, 1.0]) @ scenery.to_pixel @ world_from_pixel
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        surround = (70.0, 68.0, 66.0)
        return cv2.warpPerspective(
            scenery.floor_mips[level], matrix, (width_px, height_px), None, flags, cv2.BORDER_CONSTANT, surround
        )

    def _fill(
        self,
        image: np.ndarray,
        pose: tuple[float, float, float],
        along_m: tuple[float, float],
        width_m: float,
        rgb: tuple[int, int, int],
    ) -> None:
        """Fill a rectangle that reaches along_m (from, to) ahead of the pose."""
        x, y, yaw = pose
        ahead, left = np.array([math.cos(yaw), math.sin(yaw)]), np.array([-math.sin(yaw), math.cos(yaw)])
        corners = [
            (x, y) + along * ahead + side * left
            for along, side in (
                (along_m[0], -0.5 * width_m),
                (along_m[1], -0.5 * width_m),
                (along_m[1], 0.5 * width_m),
                (along_m[0], 0.5 * width_m),
            )
        ]
        pixels = np.round(self.world_to_pixel(np.array(corners)) * (1 << _SUBPIXEL_BITS)).astype(np.int32)
        cv2.fillConvexPoly(image, pixels, tuple(float(c) for c in rgb), cv2.LINE_AA, _SUBPIXEL_BITS)
