"""The world seen from the ceiling: the floor, the car with a coloured marker on its roof, and a whole drive as one picture."""

import math
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.files import atomic_path
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


_JUMP_M = 0.6  # further apart, the car was put back: no line
_BAR_PX = 92
_INK = (20.0, 20.0, 20.0)


def draw_drive(
    track: Track,
    xy: np.ndarray,
    values: np.ndarray,
    label: str,
    path: str | Path | None = None,
    limits: tuple[float, float] | None = None,
    width_px: int = 900,
) -> np.ndarray:
    """(rows, columns, 3) uint8 RGB; written to `path` (its suffix chooses the format) when given.

    xy: (T, 2) metres. values: (T,), coloured from low (blue) to high (red) between limits (default: their 1 % and
    99 % quantiles); where a value is not finite the path is grey.
    """
    xy, values = np.asarray(xy, float).reshape(-1, 2), np.asarray(values, float).ravel()
    if len(xy) == 0 or len(xy) != len(values):
        raise AiccError(f"a drive picture needs as many values as positions (at least 1), got {len(values)} and {len(xy)}")
    low, high = limits if limits is not None else _spread(values)
    xmin, ymin, xmax, ymax = track.arena
    overhead = OverheadCamera(track, width_px, round(width_px * (ymax - ymin) / (xmax - xmin)))
    floor = overhead.render(*_first_pose(xy))
    image = cv2.addWeighted(floor, 0.55, np.full_like(floor, 255), 0.45, 0.0)  # pale, so that the path stands out
    _draw_path(image, overhead, xy, _colours(values, low, high))
    image = np.hstack([image, _colour_bar(image.shape[0], low, high, label)])
    if path is not None:
        with atomic_path(path) as temporary:
            if not cv2.imwrite(str(temporary), cv2.cvtColor(image, cv2.COLOR_RGB2BGR)):
                raise AiccError(f"could not write the picture {path}")
    return image


def _first_pose(xy: np.ndarray) -> tuple[float, float, float]:
    moved = np.flatnonzero(np.hypot(*(xy - xy[0]).T) > 0.05)
    towards = xy[moved[0]] - xy[0] if len(moved) else np.array([1.0, 0.0])
    return float(xy[0, 0]), float(xy[0, 1]), math.atan2(towards[1], towards[0])


def _spread(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return 0.0, 1.0
    low, high = (float(q) for q in np.quantile(finite, [0.01, 0.99]))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _colours(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """(T, 3) RGB floats."""
    position = np.clip((values - low) / (high - low), 0.0, 1.0)
    shades = np.nan_to_num(255.0 * position).astype(np.uint8)[:, None]
    colours = cv2.applyColorMap(shades, cv2.COLORMAP_TURBO)[:, 0, ::-1].astype(float)
    colours[~np.isfinite(values)] = 130.0
    return colours


def _draw_path(image: np.ndarray, overhead: OverheadCamera, xy: np.ndarray, colours: np.ndarray) -> None:
    bits = 4
    pixels = np.round(overhead.world_to_pixel(xy) * (1 << bits)).astype(int)
    steps = np.hypot(*np.diff(xy, axis=0).T)
    for i, step in enumerate(steps):
        if step <= _JUMP_M:
            start, end = tuple(pixels[i].tolist()), tuple(pixels[i + 1].tolist())
            cv2.line(image, start, end, tuple(colours[i + 1].tolist()), 3, cv2.LINE_AA, bits)


def _colour_bar(height_px: int, low: float, high: float, label: str) -> np.ndarray:
    bar = np.full((height_px, _BAR_PX, 3), 255, np.uint8)
    top, bottom = 40, height_px - 40
    ramp = _colours(np.linspace(high, low, max(2, bottom - top)), low, high)
    bar[top : top + len(ramp), 12:30] = ramp[:, None, :].astype(np.uint8)
    for share in (0.0, 0.5, 1.0):
        row = round(bottom - share * (bottom - top))
        _write(bar, f"{low + share * (high - low):.3g}", (36, row + 4))
    _write(bar, label, (8, 24))
    return bar


def _write(image: np.ndarray, text: str, at: tuple[int, int]) -> None:
    width = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.42, 1)[0][0]
    scale = 0.42 * min(1.0, (_BAR_PX - at[0] - 4) / max(1, width))
    cv2.putText(image, text, at, cv2.FONT_HERSHEY_SIMPLEX, scale, _INK, 1, cv2.LINE_AA)
