"""The car's camera: a pinhole that sees the floor through a homography and the walls by casting rays."""

import math
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.ground import METRES_PER_PIXEL
from donkey_aicc.simulator.lighting import MAX_WARMTH, AutoExposure, Lighting
from donkey_aicc.simulator.other_cars import OtherCar, draw_cars
from donkey_aicc.simulator.scenery import HEIGHT_M, MIP_LEVELS, PIXELS_PER_METRE, scenery_of, wall_offsets_m
from donkey_aicc.simulator.track import Track

_LONGEST_SHUTTER_S = 0.016
_NOISE_STDS = (1.4, 1.75, 2.2, 2.8, 3.5, 4.5)  # of a pixel with gain 1, 1.25, 1.6, 2, 2.5, 3.2 and more
_NOISE_POOL = 1 << 20
_METER_STEP_PX = 6
_LENS_SIGMA_PX = 0.6  # a cheap lens, in pixels of the picture
_VIGNETTE = 0.22  # light lost in the corners
_NOSE_M = 0.03
_PX = np.float32(PIXELS_PER_METRE)
_LENS_UNIT = 224.0  # leaves room above 1 for warm and cold light in 8 bits
_TINTS = 41


@dataclass(frozen=True)
class CameraConfig:
    """Size in pixels, horizontal field of view, pitch (positive looks down) and place on the car (metres)."""

    width: int = 160
    height: int = 120
    fov_deg: float = 95.0
    pitch_deg: float = 17.0
    height_m: float = 0.16
    forward_m: float = 0.14  # ahead of the rear axle

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            value = getattr(self, name)
            if not isinstance(value, int) or not 16 <= value <= 1280:
                raise ConfigError(f"camera {name} must be a whole number of pixels from 16 to 1280, got {value!r}")
        for name, low, high in (
            ("fov_deg", 20, 150),
            ("pitch_deg", -30, 80),
            ("height_m", 0.02, HEIGHT_M - 0.1),
            ("forward_m", -0.3, 0.5),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"camera {name} must be from {low} to {high}, got {value}")

    @property
    def focal_px(self) -> float:
        return 0.5 * self.width / math.tan(math.radians(0.5 * self.fov_deg))


class Camera:
    """Draws what the car sees. Everything that does not depend on the pose is worked out once."""

    def __init__(self, track: Track, config: CameraConfig | None = None):
        self.config = config or CameraConfig()
        self.lighting, self.auto = Lighting(track), AutoExposure()
        self.others: list[OtherCar] = []
        self._arena = track.arena
        self._scenery = scenery_of(track)
        self._wall_offsets = [PIXELS_PER_METRE * offset for offset in wall_offsets_m(track)]
        self.tilt(0.0)
        self._lens = [_lens(self.config, warmth) for warmth in np.linspace(-MAX_WARMTH, MAX_WARMTH, _TINTS)]
        self._noise = _noise_pools(self.config.width * self.config.height * 3)

    def tilt(self, tilt_deg: float) -> None:
        """Look further down than the mount was made for; works out again what depends on the view."""
        self.tilt_deg = tilt_deg
        self._ray_from_pixel = _ray_matrix(self.config, self.tilt_deg)
        rows, cols = np.mgrid[0 : self.config.height, 0 : self.config.width]
        rays = np.stack([cols, rows, np.ones_like(rows)], axis=2) @ self._ray_from_pixel.T
        # Without roll a ray's forward and up parts depend only on the row, its left part only on the column.
        self._forward, self._up = (rays[:, :1, i].astype(np.float32) for i in (0, 2))
        self._left = rays[:1, :, 1].astype(np.float32)
        self._row_reach = _row_reach(rays, self.config.height_m)
        self._bands = self._ground_bands()

    def reset(self, rng: np.random.Generator) -> None:
        """Light as on any day, and a camera that is used to it."""
        self.lighting.reset(rng)
        self.auto.reset(self.lighting.day, self.lighting.day_warmth, rng)

    def render(self, pose: tuple[float, float, float], speed: float, yaw_rate: float, rng: np.random.Generator) -> np.ndarray:
        """(height, width, 3) uint8 RGB from pose (x, y, yaw) of the rear axle; rng draws light, exposure and sensor noise."""
        x, y, yaw = pose
        xmin, ymin, xmax, ymax = self._arena
        # The eye stays inside the room even when the car's nose touches a wall.
        eye_x = min(max(x + self.config.forward_m * math.cos(yaw), xmin + _NOSE_M), xmax - _NOSE_M)
        eye_y = min(max(y + self.config.forward_m * math.sin(yaw), ymin + _NOSE_M), ymax - _NOSE_M)
        image = np.empty((self.config.height, self.config.width, 3), np.uint8)
        self._draw_ground(image, eye_x, eye_y, yaw)
        self._draw_walls(image, eye_x, eye_y, yaw)
        if self.others:
            draw_cars(image, self.others, (eye_x, eye_y, self.config.height_m), yaw, self._ray_from_pixel)
        cv2.GaussianBlur(image, (3, 3), _LENS_SIGMA_PX, image, borderType=cv2.BORDER_REPLICATE)
        self._blur_by_motion(image, speed, yaw_rate)
        light, warmth = self.lighting.next_frame(x, y, rng)
        frame = self._develop(image, light, warmth, rng)
        self.auto.look_at(_mean_grey(frame), warmth, rng)
        return frame

    # --- floor -------------------------------------------------------------------------------------------------

    def _ground_bands(self) -> list[tuple[int, int, int]]:
        """(first row, last row + 1, mip level) of the rows that can show floor.

        Far rows are read from a coarser floor so that they do not flicker.
        """
        xmin, ymin, xmax, ymax = self._arena
        room_m = math.hypot(xmax - xmin, ymax - ymin)
        nearest = self._row_reach[:, 0]
        levels = [_mip_level(distance, self.config) for distance in nearest]
        rows = [row for row in range(self.config.height) if nearest[row] <= room_m]
        starts = [row for i, row in enumerate(rows) if i == 0 or levels[row] != levels[row - 1]]
        return [(a, b, levels[a]) for a, b in zip(starts, [*starts[1:], self.config.height], strict=True)]

    def _draw_ground(self, image: np.ndarray, x: float, y: float, yaw: float) -> None:
        h, cos, sin = self.config.height_m, math.cos(yaw), math.sin(yaw)
        # A ray (forward, left, up) meets the floor after height / -up: homogeneous floor point (h f, h l, -u).
        place = np.array([[h * cos, -h * sin, -x], [h * sin, h * cos, -y], [0.0, 0.0, -1.0]])
        matrix = self._scenery.to_pixel @ place @ self._ray_from_pixel
        width, flags = self.config.width, cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        for first, last, level in self._bands:
            band = matrix.copy()
            band[:2] *= 0.5**level  # cv2.pyrDown keeps texel (0, 0) in place, so coordinates only scale
            band[:, 2] += first * band[:, 1]
            target = image[first:last]
            cv2.warpPerspective(self._scenery.floor_mips[level], band, (width, last - first), target, flags, cv2.BORDER_REPLICATE)

    # --- walls -------------------------------------------------------------------------------------------------

    def _draw_walls(self, image: np.ndarray, x: float, y: float, yaw: float) -> None:
        xmin, ymin, xmax, ymax = self._arena
        nearest_m = min(x - xmin, xmax - x, y - ymin, ymax - y)
        count = int(np.count_nonzero(self._row_reach[:, 1] >= nearest_m))  # lower rows see only floor
        if count == 0:
            return
        cos, sin = np.float32(math.cos(yaw)), np.float32(math.sin(yaw))
        forward, left, up = self._forward[:count], self._left, self._up[:count]
        dx, dy = cos * forward - sin * left, sin * forward + cos * left
        with np.errstate(divide="ignore"):
            per_x, per_y = _PX / dx, _PX / dy
        to_x = np.maximum(np.float32(xmax - x) * per_x, np.float32(xmin - x) * per_x)
        to_y = np.maximum(np.float32(ymax - y) * per_y, np.float32(ymin - y) * per_y)
        along = np.minimum(to_x, to_y)  # from here on in texture pixels
        east, north, west, south = (np.float32(offset) for offset in self._wall_offsets)
        on_x_wall = (dx > 0) * (east - west) + (west + _PX * np.float32(y - ymin))
        on_y_wall = (dy > 0) * (north - south) + (south + _PX * np.float32(x - xmin))
        hits_x = (to_x < to_y).view(np.uint8)
        # cv2.copyTo under a mask is several times faster than np.where.
        columns = along * cv2.copyTo(dy, hits_x, dx)
        columns += cv2.copyTo(on_x_wall, hits_x, on_y_wall)
        rise = along * up
        eye_px = self.config.height_m * PIXELS_PER_METRE
        on_wall = rise > -eye_px
        rows = np.float32(HEIGHT_M * PIXELS_PER_METRE - eye_px) - rise
        seen = cv2.remap(self._scenery.walls, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        cv2.copyTo(seen, on_wall.view(np.uint8), image[:count])

    # --- lens and sensor ---------------------------------------------------------------------------------------

    def _blur_by_motion(self, image: np.ndarray, speed: float, yaw_rate: float) -> None:
        open_px_s = _LONGEST_SHUTTER_S * self.auto.shutter * self.config.focal_px
        sideways = int(round(abs(yaw_rate) * open_px_s))
        if sideways >= 1:
            cv2.blur(image, (1 + sideways, 1), image)
        streak = int(round(abs(speed) * open_px_s / (2.0 * self.config.height_m)))
        if streak >= 1:
            near = image[self.config.height * 2 // 3 :]
            cv2.blur(near, (1, 1 + streak), near)

    def _develop(self, image: np.ndarray, light: float, warmth: float, rng: np.random.Generator) -> np.ndarray:
        start = int(rng.integers(_NOISE_POOL))
        louder = min(round(3.0 * math.log2(self.auto.gain)), len(_NOISE_STDS) - 1)  # a third of a stop each
        brighter, darker = (part[start : start + image.size].reshape(image.shape) for part in self._noise[louder])
        tint = round((self.auto.tint(warmth) / MAX_WARMTH + 1.0) * 0.5 * (_TINTS - 1))
        # In steps of 1/1024 the last bits of a logarithm, which differ between processors, cannot reach a pixel.
        factor = round(1024.0 * light * self.auto.exposure) / 1024.0
        cv2.multiply(image, self._lens[tint], image, factor / _LENS_UNIT)
        cv2.add(image, brighter, image)
        return cv2.subtract(image, darker, image)


def _mean_grey(frame: np.ndarray) -> float:
    """What the exposure meter sees: green on a coarse grid."""
    return float(frame[::_METER_STEP_PX, ::_METER_STEP_PX, 1].mean(dtype=np.float64))


def _ray_matrix(config: CameraConfig, tilt_deg: float) -> np.ndarray:
    """(3, 3) from pixel (col, row, 1) to a ray (forward, left, up) of the level car."""
    focal, pitch = config.focal_px, math.radians(config.pitch_deg + tilt_deg)
    right = np.array([1.0 / focal, 0.0, -0.5 * (config.width - 1) / focal])
    down = np.array([0.0, 1.0 / focal, -0.5 * (config.height - 1) / focal])
    ahead = np.array([0.0, 0.0, 1.0])
    forward = math.cos(pitch) * ahead - math.sin(pitch) * down
    up = -math.sin(pitch) * ahead - math.cos(pitch) * down
    return np.stack([forward, -right, up])


def _row_reach(rays: np.ndarray, height_m: float) -> np.ndarray:
    """(rows, 2): horizontal distance to the nearest and the farthest floor each row sees; inf above the horizon."""
    down = np.maximum(-rays[:, :, 2], 0.0)
    with np.errstate(divide="ignore"):
        distance = height_m * np.hypot(rays[:, :, 0], rays[:, :, 1]) / down
    return np.stack([distance.min(axis=1), distance.max(axis=1)], axis=1)


def _mip_level(distance_m: float, config: CameraConfig) -> int:
    """Which halving of the floor texture has texels about as large as a pixel at this distance."""
    if not math.isfinite(distance_m):
        return MIP_LEVELS - 1
    slant = math.hypot(distance_m, config.height_m)
    across = slant / config.focal_px
    along = across * slant / config.height_m
    # Between the two: sharp lines along the lane matter more than a little flicker across it.
    level = math.log2(max(1.0, across**0.6 * along**0.4 / METRES_PER_PIXEL))
    return min(MIP_LEVELS - 1, round(level))


def _lens(config: CameraConfig, warmth: float) -> np.ndarray:
    """(height, width, 3) uint8 factors in units of 1 / _LENS_UNIT: darker corners, and the colour of the light."""
    rows = np.linspace(-1.0, 1.0, config.height)[:, None]
    cols = np.linspace(-1.0, 1.0, config.width)[None, :]
    fall = 1.0 - _VIGNETTE * 0.5 * (rows**2 + cols**2)
    colour = np.array([1.0 + warmth, 1.0, 1.0 - warmth])
    return np.round(_LENS_UNIT * fall[:, :, None] * colour).astype(np.uint8)


@lru_cache(maxsize=4)
def _noise_pools(image_size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each strength what sensor noise adds and what it takes away, to cut frames from.

    Drawing it anew for each frame would cost more than the picture; unsigned parts add fastest.
    """
    unit = np.random.default_rng(7).standard_normal(_NOISE_POOL + image_size)
    scaled = [np.round(std * unit) for std in _NOISE_STDS]
    return [(np.maximum(noise, 0.0).astype(np.uint8), np.maximum(-noise, 0.0).astype(np.uint8)) for noise in scaled]
