"""What the floor looks like: worn tiles, the lane, and things lying beyond its edges."""

import zlib
from dataclasses import dataclass

import cv2
import numpy as np

from donkey_aicc.simulator.track import Track

METRES_PER_PIXEL = 0.005
TILE_M = 0.30
EDGE_WIDTH_M = 0.05
DASH_M = 0.22
DASH_WIDTH_M = 0.035
_SUBPIXEL_BITS = 4
_OBJECT_COLOURS = np.array(
    [(168, 84, 74), (78, 100, 142), (84, 126, 92), (186, 158, 88), (118, 94, 132), (78, 80, 84), (206, 202, 192), (146, 112, 84)]
)


@dataclass(frozen=True, eq=False)
class Ground:
    """The floor seen straight from above; row 0 is the far (ymax) wall.

    texture: (rows, cols, 3) uint8 RGB. to_pixel: (3, 3), maps homogeneous world (x, y, 1) to texture (col, row, 1).
    """

    texture: np.ndarray
    to_pixel: np.ndarray


def scene_rng(track: Track, purpose: str) -> np.random.Generator:
    """Randomness of the scenery: tied to the track's name, so that a track looks the same on every day and seed."""
    return np.random.default_rng(zlib.crc32(f"{track.name}/{purpose}".encode()))


def smooth_field(rng: np.random.Generator, shape: tuple[int, int], cells: tuple[int, int]) -> np.ndarray:
    """(rows, cols) float32 random landscape with about unit spread and `cells` hills down and across.

    Worked out in double precision: a processor's vector instructions then never change what is left after rounding.
    """
    coarse = rng.standard_normal((max(2, cells[0]), max(2, cells[1])))
    return cv2.resize(coarse, (shape[1], shape[0]), interpolation=cv2.INTER_CUBIC).astype(np.float32)


def soften(picture: np.ndarray, sigma_px: float) -> np.ndarray:
    """float32 copy with a Gaussian blur, in double precision for the same reason."""
    return cv2.GaussianBlur(picture.astype(np.float64), (0, 0), sigma_px).astype(np.float32)


def make_ground(track: Track) -> Ground:
    """Paint the floor of a track."""
    xmin, ymin, xmax, ymax = track.arena
    cols, rows = round((xmax - xmin) / METRES_PER_PIXEL), round((ymax - ymin) / METRES_PER_PIXEL)
    scale = 1.0 / METRES_PER_PIXEL
    to_pixel = np.array([[scale, 0.0, -xmin * scale - 0.5], [0.0, -scale, ymax * scale - 0.5], [0.0, 0.0, 1.0]])
    rng = scene_rng(track, "ground")
    floor = _tiles(rng, rows, cols)
    _lay_objects(floor, track, to_pixel, rng)
    _paint_lane(floor, track, to_pixel)
    floor *= _light_pools(rng, rows, cols)[:, :, None]
    return Ground(np.clip(floor, 0, 255).astype(np.uint8), to_pixel)


def _tiles(rng: np.random.Generator, rows: int, cols: int) -> np.ndarray:
    """(rows, cols, 3) float32: every tile its own shade, whole regions tinted, joints darker, no two spots alike."""
    pitch = round(TILE_M / METRES_PER_PIXEL)
    down, across = rows // pitch + 2, cols // pitch + 2
    shade = rng.normal(0.0, 5.0, (down, across, 1)) + rng.normal(0.0, 1.5, (down, across, 3))
    odd = rng.random((down, across, 1)) < 0.07  # replaced tiles from another batch
    shade = np.where(odd, shade + rng.choice([-22.0, 18.0], (down, across, 1)), shade).astype(np.float32)
    top, left = rng.integers(0, pitch, 2)
    tiles = cv2.resize(shade, (across * pitch, down * pitch), interpolation=cv2.INTER_NEAREST)
    floor = tiles[top : top + rows, left : left + cols] + np.array([158.0, 154.0, 146.0], np.float32)
    hills = (rows // 400 + 2, cols // 400 + 2)
    for channel, spread in enumerate((8.0, 5.0, 9.0)):
        floor[:, :, channel] += spread * smooth_field(rng, (rows, cols), hills)
    wear = smooth_field(rng, (rows, cols), (rows // 24, cols // 24))
    floor = floor + (2.5 * wear)[:, :, None]
    joint = np.zeros((rows, cols), np.float32)
    joint[(np.arange(rows) + top) % pitch < 2, :] = 1.0
    joint[:, (np.arange(cols) + left) % pitch < 2] = 1.0
    floor -= (30.0 * soften(joint, 0.8))[:, :, None]
    return floor


def _distance_to_lane(track: Track, to_pixel: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(rows, cols) metres to the centreline."""
    canvas = np.full(shape, 255, np.uint8)
    cv2.polylines(canvas, [_fixed_point(track.centreline, to_pixel)], True, (0,), 1, cv2.LINE_8, _SUBPIXEL_BITS)
    return cv2.distanceTransform(canvas, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) * METRES_PER_PIXEL


def _lay_objects(floor: np.ndarray, track: Track, to_pixel: np.ndarray, rng: np.random.Generator) -> None:
    """Rugs, paper, mats and discs, everywhere except on the lane and a hand's width beside it."""
    distance = _distance_to_lane(track, to_pixel, floor.shape[:2])
    area_m2 = floor.shape[0] * floor.shape[1] * METRES_PER_PIXEL**2
    for _ in range(round(2.6 * area_m2)):
        size_m = float(rng.uniform(0.06, 0.32))
        row, col = int(rng.integers(floor.shape[0])), int(rng.integers(floor.shape[1]))
        colour = _OBJECT_COLOURS[rng.integers(len(_OBJECT_COLOURS))] + rng.normal(0.0, 8.0, 3)
        kind, angle, ratio = rng.integers(3), float(rng.uniform(0, 180)), float(rng.uniform(0.35, 1.0))
        if distance[row, col] < track.half_width_m + 0.08 + size_m:
            continue
        _lay_object(floor, kind, (col, row), size_m / METRES_PER_PIXEL, ratio, angle, colour)


def _lay_object(floor, kind, centre, size_px: float, ratio: float, angle: float, colour: np.ndarray) -> None:
    ink = tuple(float(c) for c in colour)
    trim = tuple(float(c) for c in 0.6 * colour + 0.4 * 225)
    box = cv2.boxPoints((centre, (2 * size_px, 2 * size_px * ratio), angle)).round().astype(np.int32)
    if kind == 0:  # a rug with a border
        cv2.fillPoly(floor, [box], ink)
        cv2.polylines(floor, [box], True, trim, max(2, int(0.15 * size_px)))
    elif kind == 1:  # a plain sheet or mat
        cv2.fillPoly(floor, [box], ink)
    else:  # a disc with a ring
        radius = max(3, int(0.8 * size_px * ratio))
        cv2.circle(floor, centre, radius, ink, -1)
        cv2.circle(floor, centre, radius // 2, trim, max(2, radius // 6))


def _paint_lane(floor: np.ndarray, track: Track, to_pixel: np.ndarray) -> None:
    shape = floor.shape[:2]
    lane = (_distance_to_lane(track, to_pixel, shape) < track.half_width_m).astype(np.float32)
    floor -= (9.0 * soften(lane, 4))[:, :, None]  # tyres have left the lane a little darker
    edges = np.zeros(shape, np.uint8)
    for offset_m in (-track.half_width_m, track.half_width_m):
        points = _fixed_point(track.lane_edge(offset_m), to_pixel)
        cv2.polylines(edges, [points], True, (255,), round(EDGE_WIDTH_M / METRES_PER_PIXEL), cv2.LINE_AA, _SUBPIXEL_BITS)
    dashes = np.zeros(shape, np.uint8)
    count = max(4, round(track.length_m / (2 * DASH_M)))
    starts = np.linspace(0, len(track.centreline), count, endpoint=False)
    for start in starts:
        points = _fixed_point(track.centreline[int(start) : int(start) + round(DASH_M / track.spacing_m)], to_pixel)
        cv2.polylines(dashes, [points], False, (255,), round(DASH_WIDTH_M / METRES_PER_PIXEL), cv2.LINE_AA, _SUBPIXEL_BITS)
    _blend(floor, edges, (226.0, 224.0, 216.0))
    _blend(floor, dashes, (214.0, 178.0, 78.0))


def _blend(floor: np.ndarray, mask: np.ndarray, colour: tuple[float, float, float]) -> None:
    cover = (mask.astype(np.float32) / 255.0)[:, :, None]
    floor += cover * (np.array(colour, np.float32) - floor)


def _light_pools(rng: np.random.Generator, rows: int, cols: int) -> np.ndarray:
    """(rows, cols) float32 around 1: lamps, windows and shadows."""
    field = smooth_field(rng, (rows, cols), (rows // 320 + 2, cols // 320 + 2))
    return np.clip(1.0 + 0.10 * field, 0.72, 1.28)


def _fixed_point(points: np.ndarray, to_pixel: np.ndarray) -> np.ndarray:
    """(K, 1, 2) int32 texture pixels with sub-pixel bits, as OpenCV's drawing functions want them."""
    pixels = points @ to_pixel[:2, :2].T + to_pixel[:2, 2]
    return np.round(pixels * (1 << _SUBPIXEL_BITS)).astype(np.int32)[:, None, :]
