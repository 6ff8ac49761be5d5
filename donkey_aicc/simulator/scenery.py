"""A track's painted floor and walls, made once and shared by every camera that looks at it.

The four walls have paint, skirting boards, pictures, doors, windows and furniture; ground.py paints the floor.
"""

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from donkey_aicc.simulator.ground import make_ground, scene_rng, smooth_field, soften
from donkey_aicc.simulator.track import Track

PIXELS_PER_METRE = 60
HEIGHT_M = 2.4
_CEILING_PX = 4
_SOFTNESS_PX = 1.6
_CONTRAST = 0.7  # indoor light is flat, and hard edges far away would be all that a small auto-encoder learns
_PAINT = np.array([(196, 190, 172), (168, 184, 192), (200, 178, 164), (176, 190, 166)], np.float32)
_PICTURE_COLOURS = np.array(
    [(170, 74, 66), (66, 100, 150), (74, 128, 98), (206, 172, 84), (112, 84, 126), (70, 72, 78), (200, 124, 74), (104, 160, 168)]
)


def wall_offsets_m(track: Track) -> tuple[float, float, float, float]:
    """Where along the texture each wall begins, in metres: east (x = xmax), north, west, south."""
    xmin, ymin, xmax, ymax = track.arena
    width, depth = xmax - xmin, ymax - ymin
    return 0.0, depth, depth + width, 2 * depth + width


def make_walls(track: Track) -> np.ndarray:
    """(rows, cols, 3) uint8 RGB: the four walls side by side, row 0 at the ceiling, last row at the floor.

    Along east and west walls columns follow y, along north and south walls x.
    """
    xmin, ymin, xmax, ymax = track.arena
    rng = scene_rng(track, "walls")
    lengths_m = (ymax - ymin, xmax - xmin, ymax - ymin, xmax - xmin)
    paints = _PAINT[rng.permutation(4)]
    ends = np.round(np.cumsum([0.0, *lengths_m]) * PIXELS_PER_METRE).astype(int)
    texture = np.empty((round(HEIGHT_M * PIXELS_PER_METRE), ends[-1], 3), np.float32)
    for i, paint in enumerate(paints):
        texture[:, ends[i] : ends[i + 1]] = _one_wall(rng, ends[i + 1] - ends[i], texture.shape[0], paint)
    return np.clip(texture, 0, 255).astype(np.uint8)


def _one_wall(rng: np.random.Generator, cols: int, rows: int, paint: np.ndarray) -> np.ndarray:
    wall = np.empty((rows, cols, 3), np.float32)
    wall[:] = paint
    at = int(rng.uniform(0.05, 0.4) * PIXELS_PER_METRE)
    while at < cols - 0.5 * PIXELS_PER_METRE:
        kind = str(rng.choice(["door", "window", "pictures", "shelf", "boxes"], p=[0.12, 0.18, 0.3, 0.2, 0.2]))
        width = int({"door": 0.9, "window": 1.1, "pictures": 0.7, "shelf": 0.9, "boxes": 0.6}[kind] * PIXELS_PER_METRE)
        width = min(width, cols - at - 4)
        _DRAW[kind](wall, rng, at, width)
        at += width + int(rng.uniform(0.15, 0.6) * PIXELS_PER_METRE)
    board = int(0.09 * PIXELS_PER_METRE)
    wall[rows - board :] = 0.42 * paint
    wall = paint + _CONTRAST * (wall - paint)
    wall *= 1.0 + 0.07 * smooth_field(rng, (rows, cols), (3, cols // 70 + 2))[:, :, None]
    wall = soften(wall, _SOFTNESS_PX)  # seen from a metre or more, a pixel covers about this much
    wall[:_CEILING_PX] = (222, 220, 214)
    return wall


def _rectangle(wall: np.ndarray, left: int, right: int, low_m: float, high_m: float, colour, thickness: int = -1) -> None:
    rows = wall.shape[0]
    top, bottom = rows - round(high_m * PIXELS_PER_METRE), rows - round(low_m * PIXELS_PER_METRE)
    cv2.rectangle(wall, (left, top), (right, bottom), tuple(float(c) for c in colour), thickness)


def _colour(rng: np.random.Generator) -> np.ndarray:
    return _PICTURE_COLOURS[rng.integers(len(_PICTURE_COLOURS))] + rng.normal(0.0, 12.0, 3)


def _door(wall: np.ndarray, rng: np.random.Generator, at: int, width: int) -> None:
    wood = np.array([142.0, 100.0, 66.0]) * rng.uniform(0.7, 1.2)
    _rectangle(wall, at, at + width, 0.0, 2.05, wood)
    _rectangle(wall, at, at + width, 0.0, 2.05, 0.6 * wood, 2)
    _rectangle(wall, at + width - 9, at + width - 6, 0.95, 1.1, (210, 200, 170))


def _window(wall: np.ndarray, rng: np.random.Generator, at: int, width: int) -> None:
    sky = np.array([214.0, 228.0, 240.0]) * rng.uniform(0.9, 1.05)
    _rectangle(wall, at, at + width, 0.75, 1.9, sky)
    _rectangle(wall, at, at + width, 0.75, 1.1, np.array([120.0, 146.0, 110.0]) * rng.uniform(0.8, 1.2))
    _rectangle(wall, at, at + width, 0.75, 1.9, (238, 236, 230), 3)
    _rectangle(wall, at + width // 2, at + width // 2 + 1, 0.75, 1.9, (238, 236, 230))


def _pictures(wall: np.ndarray, rng: np.random.Generator, at: int, width: int) -> None:
    low = float(rng.uniform(0.35, 0.75))
    high = low + float(rng.uniform(0.35, 0.75))
    _rectangle(wall, at, at + width, low, high, _colour(rng))
    middle_m = 0.5 * (low + high)
    if rng.random() < 0.5:
        _rectangle(wall, at + width // 5, at + width * 4 // 5, low + 0.08, middle_m, _colour(rng))
    else:
        centre = (at + width // 2, wall.shape[0] - round(middle_m * PIXELS_PER_METRE))
        cv2.circle(wall, centre, width // 4, tuple(float(c) for c in _colour(rng)), -1)
    _rectangle(wall, at, at + width, low, high, (44, 40, 38), 2)


def _shelf(wall: np.ndarray, rng: np.random.Generator, at: int, width: int) -> None:
    _rectangle(wall, at, at + width, 0.0, 1.3, (92, 74, 58))
    for low in (0.06, 0.48, 0.9):
        left = at + 3
        while left < at + width - 8:
            right = min(left + int(rng.integers(5, 14)), at + width - 3)
            _rectangle(wall, left, right, low, low + float(rng.uniform(0.2, 0.34)), _colour(rng))
            left = right + 1


def _boxes(wall: np.ndarray, rng: np.random.Generator, at: int, width: int) -> None:
    low = 0.0
    for _ in range(int(rng.integers(1, 4))):
        high = low + float(rng.uniform(0.18, 0.35))
        shift = int(rng.integers(0, max(1, width // 5)))
        card = np.array([176.0, 136.0, 92.0]) if rng.random() < 0.5 else _colour(rng)
        _rectangle(wall, at + shift, at + width - shift, low, high, card)
        _rectangle(wall, at + shift, at + width - shift, low, high, 0.6 * card, 2)
        low = high


_DRAW = {"door": _door, "window": _window, "pictures": _pictures, "shelf": _shelf, "boxes": _boxes}


MIP_LEVELS = 5


@dataclass(frozen=True, eq=False)
class Scenery:
    """floor_mips: the floor texture and its halvings, uint8 RGB. walls: see make_walls. to_pixel: world -> finest floor."""

    floor_mips: list[np.ndarray]
    walls: np.ndarray
    to_pixel: np.ndarray


@lru_cache(maxsize=8)
def scenery_of(track: Track) -> Scenery:
    """The scenery of a track; tracks are compared by identity, and `make_track` hands out the same one again."""
    ground = make_ground(track)
    mips = [ground.texture]
    for _ in range(MIP_LEVELS - 1):
        mips.append(cv2.pyrDown(mips[-1]))
    return Scenery(mips, make_walls(track), ground.to_pixel)
