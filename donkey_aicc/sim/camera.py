"""The car's camera: a pinhole that sees the floor through a homography and the walls by casting rays."""

import math
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.sim.ground import make_ground
from donkey_aicc.sim.lighting import Lighting
from donkey_aicc.sim.track import Track
from donkey_aicc.sim.walls import HEIGHT_M, PIXELS_PER_METRE, make_walls, wall_offsets_m

_EXPOSURE_S = 0.012
_NOISE_STD = 2.2
_NOISE_POOL = 1 << 20
_VIGNETTE = 0.22  # light lost in the corners
_MIP_LEVELS = 5


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
            if not isinstance(value, int) or not 16 <= value <= 2048:
                raise ConfigError(f"camera {name} must be a whole number of pixels from 16 to 2048, got {value!r}")
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
        self.lighting = Lighting(track)
        self._arena = track.arena
        self._mips, self._walls, self._to_pixel = _scenery(track)
        self._wall_offsets = wall_offsets_m(track)
        self._ray_from_pixel = _ray_matrix(self.config)
        rows, cols = np.mgrid[0 : self.config.height, 0 : self.config.width]
        rays = np.stack([cols, rows, np.ones_like(rows)], axis=2) @ self._ray_from_pixel.T
        self._bands = self._ground_bands()
        self._wall_rows = self._lowest_wall_row()
        self._rays = tuple(np.ascontiguousarray(rays[: self._wall_rows, :, i], np.float32) for i in range(3))
        self._vignette = _vignette(self.config)
        self._noise = _noise_pool(self.config.width * self.config.height * 3)

    def render(self, pose: tuple[float, float, float], speed: float, yaw_rate: float, rng: np.random.Generator) -> np.ndarray:
        """(height, width, 3) uint8 RGB from pose (x, y, yaw) of the rear axle; rng draws exposure and sensor noise."""
        x, y, yaw = pose
        eye_x = x + self.config.forward_m * math.cos(yaw)
        eye_y = y + self.config.forward_m * math.sin(yaw)
        image = np.empty((self.config.height, self.config.width, 3), np.uint8)
        self._draw_ground(image, eye_x, eye_y, yaw)
        if self._wall_rows:
            self._draw_walls(image, eye_x, eye_y, yaw)
        self._blur_by_motion(image, speed, yaw_rate)
        return self._develop(image, self.lighting.gains(x, y, rng), rng)

    # --- floor -------------------------------------------------------------------------------------------------

    def _ground_bands(self) -> list[tuple[int, int, int]]:
        """(first row, last row + 1, mip level): far rows are read from a coarser floor so that they do not flicker."""
        config = self.config
        centre = 0.5 * (config.height - 1)
        levels = []
        for row in range(config.height):
            down = math.radians(config.pitch_deg) + math.atan((row - centre) / config.focal_px)
            if down <= 0.01:
                levels.append(_MIP_LEVELS - 1)
                continue
            distance = config.height_m / math.sin(down)
            across = distance / config.focal_px
            along = across / math.sin(down)
            texel = 0.005
            level = math.log2(max(1.0, (across**0.6 * along**0.4) / texel))
            levels.append(min(_MIP_LEVELS - 1, round(level)))
        edges = [0] + [i for i in range(1, len(levels)) if levels[i] != levels[i - 1]] + [len(levels)]
        return [(a, b, levels[a]) for a, b in zip(edges[:-1], edges[1:], strict=True)]

    def _draw_ground(self, image: np.ndarray, x: float, y: float, yaw: float) -> None:
        h, cos, sin = self.config.height_m, math.cos(yaw), math.sin(yaw)
        # A ray (forward, left, up) meets the floor after height / -up: homogeneous floor point (h f, h l, -u).
        place = np.array([[h * cos, -h * sin, -x], [h * sin, h * cos, -y], [0.0, 0.0, -1.0]])
        world_from_pixel = place @ self._ray_from_pixel
        width = self.config.width
        for first, last, level in self._bands:
            texture, shrink = self._mips[level], 0.5**level
            # cv2.pyrDown keeps texel (0, 0) in place, so coordinates only scale.
            matrix = np.diag([shrink, shrink, 1.0]) @ self._to_pixel @ world_from_pixel
            matrix[:, 2] += first * matrix[:, 1]
            flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
            cv2.warpPerspective(texture, matrix, (width, last - first), image[first:last], flags, cv2.BORDER_REPLICATE)

    # --- walls -------------------------------------------------------------------------------------------------

    def _lowest_wall_row(self) -> int:
        """Rows that can show a wall: those that see the floor no nearer than the car may come to a wall."""
        config = self.config
        nearest_m = 0.12
        steepest = math.atan(config.height_m / nearest_m) - math.radians(config.pitch_deg)
        row = 0.5 * (config.height - 1) + config.focal_px * math.tan(min(steepest, 1.5))
        return int(min(max(0, math.ceil(row)), config.height))

    def _draw_walls(self, image: np.ndarray, x: float, y: float, yaw: float) -> None:
        cos, sin = np.float32(math.cos(yaw)), np.float32(math.sin(yaw))
        forward, left, up = self._rays
        xmin, ymin, xmax, ymax = self._arena
        dx, dy = cos * forward - sin * left, sin * forward + cos * left
        with np.errstate(divide="ignore"):
            to_x = np.where(dx > 0, np.float32(xmax - x), np.float32(xmin - x)) / dx
            to_y = np.where(dy > 0, np.float32(ymax - y), np.float32(ymin - y)) / dy
        along = np.minimum(to_x, to_y)
        height = along * up + np.float32(self.config.height_m)
        east, north, west, south = (np.float32(offset) for offset in self._wall_offsets)
        at_x_wall = along * dy + np.where(dx > 0, east, west) - np.float32(ymin - y)
        at_y_wall = along * dx + np.where(dy > 0, north, south) - np.float32(xmin - x)
        columns = np.where(to_x < to_y, at_x_wall, at_y_wall) * np.float32(PIXELS_PER_METRE)
        rows = (np.float32(HEIGHT_M) - height) * np.float32(PIXELS_PER_METRE)
        seen = cv2.remap(self._walls, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        cv2.copyTo(seen, (height > 0).view(np.uint8), image[: self._wall_rows])

    # --- lens and sensor ---------------------------------------------------------------------------------------

    def _blur_by_motion(self, image: np.ndarray, speed: float, yaw_rate: float) -> None:
        sideways = int(round(abs(yaw_rate) * _EXPOSURE_S * self.config.focal_px))
        if sideways >= 1:
            cv2.blur(image, (1 + sideways, 1), image)
        streak = int(round(abs(speed) * _EXPOSURE_S * self.config.focal_px / (2.0 * self.config.height_m)))
        if streak >= 1:
            near = image[self.config.height * 2 // 3 :]
            cv2.blur(near, (1, 1 + streak), near)

    def _develop(self, image: np.ndarray, gains: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        start = int(rng.integers(len(self._noise) - image.size))
        noise = self._noise[start : start + image.size].reshape(image.shape)
        exposed = np.multiply(image, self._vignette)
        exposed *= gains
        exposed += noise
        np.clip(exposed, 0.0, 255.0, out=exposed)
        return exposed.astype(np.uint8)


@lru_cache(maxsize=8)
def _scenery(track: Track) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """(floor mips, walls, world -> floor pixel), painted once per track."""
    ground = make_ground(track)
    mips = [ground.texture]
    for _ in range(_MIP_LEVELS - 1):
        mips.append(cv2.pyrDown(mips[-1]))
    return mips, make_walls(track), ground.to_pixel


def _ray_matrix(config: CameraConfig) -> np.ndarray:
    """(3, 3) from pixel (col, row, 1) to a ray (forward, left, up) of the level car."""
    focal, pitch = config.focal_px, math.radians(config.pitch_deg)
    right = np.array([1.0 / focal, 0.0, -0.5 * (config.width - 1) / focal])
    down = np.array([0.0, 1.0 / focal, -0.5 * (config.height - 1) / focal])
    ahead = np.array([0.0, 0.0, 1.0])
    forward = math.cos(pitch) * ahead - math.sin(pitch) * down
    up = -math.sin(pitch) * ahead - math.cos(pitch) * down
    return np.stack([forward, -right, up])


def _vignette(config: CameraConfig) -> np.ndarray:
    """(height, width, 3) float32: bright in the middle, darker in the corners."""
    rows = np.linspace(-1.0, 1.0, config.height)[:, None]
    cols = np.linspace(-1.0, 1.0, config.width)[None, :]
    fall = 1.0 - _VIGNETTE * 0.5 * (rows**2 + cols**2)
    return np.ascontiguousarray(np.repeat(fall[:, :, None], 3, axis=2), np.float32)


@lru_cache(maxsize=4)
def _noise_pool(image_size: int) -> np.ndarray:
    """Sensor noise to cut frames from: drawing it anew for each frame would cost more than the picture."""
    rng = np.random.default_rng(7)
    return (0.5 + _NOISE_STD * rng.standard_normal(_NOISE_POOL + image_size)).astype(np.float32)
