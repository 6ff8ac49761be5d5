"""An overhead video of a simulated drive with everything a real one has: noise, moving shade, something in the way, a thing of
the marker's colour, a curved lens. The truth is known for every record of the tub that was recorded at the same time."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.simulator.drivers import Expert, ExpertDriver
from donkey_aicc.simulator.driving import drive
from donkey_aicc.simulator.record_drives import TubRecording
from donkey_aicc.simulator.view_from_above import OverheadCamera
from donkey_aicc.simulator.world import World

SIZE = (1280, 720)
MARKER_RGB = (255, 0, 200)


@dataclass(frozen=True)
class Scene:
    """What was recorded. offset_s: video time of the tub's first record."""

    tub: Path
    video: Path
    offset_s: float
    cte_m: np.ndarray  # (records,) truth
    xy: np.ndarray  # (records, 2) truth
    hidden: np.ndarray  # (records,) bool: something covers the car
    setup: dict  # as a person would give it


def distortion_map(k1: float, size=SIZE) -> tuple[np.ndarray, np.ndarray]:
    """cv2.remap maps that bend an ideal picture as a lens with k1 would, by OpenCV's own model."""
    unit = 0.5 * float(np.hypot(*size))
    matrix = np.array([[unit, 0, 0.5 * (size[0] - 1)], [0, unit, 0.5 * (size[1] - 1)], [0, 0, 1]])
    grid = np.stack(np.meshgrid(np.arange(size[0]), np.arange(size[1])), axis=-1).reshape(-1, 1, 2).astype(np.float32)
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 40, 1e-6)
    bent = np.array([k1, 0.0, 0.0, 0.0])
    if hasattr(cv2, "undistortPointsIter"):  # OpenCV 4
        ideal = cv2.undistortPointsIter(grid, matrix, bent, None, matrix, criteria)
    else:
        ideal = cv2.undistortPoints(grid, matrix, bent, R=None, P=matrix, criteria=criteria)
    ideal = ideal.reshape(size[1], size[0], 2).astype(np.float32)
    return cv2.convertMaps(np.ascontiguousarray(ideal[..., 0]), np.ascontiguousarray(ideal[..., 1]), cv2.CV_16SC2)


def seen_at(camera: OverheadCamera, xy: np.ndarray, k1: float, size=SIZE) -> np.ndarray:
    """Where floor points appear in the bent picture."""
    unit, middle = 0.5 * float(np.hypot(*size)), 0.5 * (np.array(size) - 1)
    ideal = (camera.world_to_pixel(xy) - middle) / unit
    return middle + unit * ideal * (1 + k1 * (ideal**2).sum(axis=-1, keepdims=True))


def setup_of(world: World, camera: OverheadCamera, k1: float) -> dict:
    """Four floor points near the corners, the colour, the line clicked every 24 cm; clicks are good to half a pixel."""
    xmin, ymin, xmax, ymax = world.track.arena
    corners = np.array([(xmin + 0.4, ymin + 0.4), (xmax - 0.4, ymin + 0.4), (xmax - 0.4, ymax - 0.4), (xmin + 0.4, ymax - 0.4)])
    line = seen_at(camera, world.track.centreline[::12], k1)
    return {
        "image_size_px": list(SIZE),
        "floor_points": [
            {"px": _clicked(px), "m": m.tolist()} for px, m in zip(seen_at(camera, corners, k1), corners, strict=True)
        ],
        "lens_k1": k1,
        "marker": {"hsv_low": [145, 100, 60], "hsv_high": [170, 255, 255], "size_m": 0.11},
        "centreline_px": _clicked(line),
    }


def _clicked(px: np.ndarray) -> list:
    return (np.round(2 * px) / 2).tolist()


class Spoiler:
    """Adds the troubles to a clean BGR frame."""

    def __init__(self, camera: OverheadCamera, world: World, k1: float, occlusion: tuple[float, float], seed: int) -> None:
        self._maps = distortion_map(k1) if k1 else None
        self._occlusion = occlusion
        rng = np.random.default_rng([seed, 5])
        noise = 6.0 * rng.standard_normal((2, SIZE[1], SIZE[0], 3), dtype=np.float32)
        # In two parts, because only unsigned bytes are added fast.
        self._more, self._less = np.maximum(noise, 0).astype(np.uint8), np.maximum(-noise, 0).astype(np.uint8)
        self._rng = rng
        # A cup of the marker's colour stands 30 cm beside the line, another thing crosses the floor.
        x, y, _ = world.track.pose_at(0.35 * world.track.length_m, 0.30)
        self._cup = camera.world_to_pixel((x, y))
        self._across = camera.world_to_pixel(np.array([(world.track.arena[0], 0.6), (world.track.arena[2], 2.2)]))
        self._columns = np.arange(SIZE[0], dtype=np.float32)

    def run(self, bgr: np.ndarray, time_s: float, car_px: np.ndarray) -> np.ndarray:
        colour = MARKER_RGB[::-1]
        cv2.circle(bgr, tuple(np.round(self._cup).astype(int).tolist()), 7, colour, -1, cv2.LINE_AA)
        if 6.0 <= time_s % 20.0 <= 14.0:
            share = (time_s % 20.0 - 6.0) / 8.0
            at = self._across[0] + share * (self._across[1] - self._across[0])
            cv2.circle(bgr, tuple(np.round(at).astype(int).tolist()), 7, colour, -1, cv2.LINE_AA)
        if self._occlusion[0] <= time_s < self._occlusion[1]:
            x, y = np.round(car_px).astype(int).tolist()
            cv2.rectangle(bgr, (x - 40, y - 40), (x + 40, y + 40), (90, 110, 120), -1)
        if self._maps:
            bgr = cv2.remap(bgr, *self._maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        middle = (200.0 + 90.0 * time_s) % (SIZE[0] + 400) - 200  # a shade 300 px wide wanders over the floor
        shade = 1.0 - 0.25 * (1.0 - np.tanh((np.abs(self._columns - middle) - 150.0) / 24.0))
        light = 0.85 + 0.15 * np.cos(0.7 * time_s)
        row = np.round(255.0 * light * shade).astype(np.uint8)[None, :, None].repeat(3, axis=2)
        lit = cv2.multiply(bgr, cv2.resize(row, SIZE, interpolation=cv2.INTER_NEAREST), scale=1.0 / 255.0)
        pattern = self._rng.integers(len(self._more))
        return cv2.subtract(cv2.add(lit, self._more[pattern]), self._less[pattern])


def record_scene(
    folder: Path,
    seconds: float,
    seed: int = 1,
    rate_hz: float = 30.0,
    track: str = "loop",
    lead_s: float = 1.3,
    k1: float = -0.05,
    occlusion_s: tuple[float, float] = (9.0, 10.0),
    codec: str = "mp4v",
) -> Scene:
    """Drive, record a tub, and film it; the camera starts lead_s before the car's recorder."""
    world = World(track, seed=seed)
    camera = OverheadCamera(world.track, *SIZE)
    frames = round(seconds * world.rate_hz)
    times, poses, cte = [], [], []
    with TubRecording(folder / "tub") as tub:
        for tick in drive(world, ExpertDriver(Expert(world.track)), frames):
            tub.write(tick)
            here = tick.observation
            times.append(here.time_s)
            poses.append((here.x, here.y, here.yaw))
            cte.append(here.cte_m)
    at, pose = np.array(times) - times[0], np.array(poses)
    pose[:, 2] = np.unwrap(pose[:, 2])
    video = folder / ("video.mp4" if codec == "mp4v" else "video.avi")
    writer = cv2.VideoWriter(str(video), cv2.VideoWriter_fourcc(*codec), rate_hz, SIZE)
    assert writer.isOpened()
    spoiler = Spoiler(camera, world, k1, occlusion_s, seed)
    for number in range(round((seconds + lead_s) * rate_hz)):
        time_s = number / rate_hz
        x, y, yaw = (float(np.interp(time_s - lead_s, at, pose[:, column])) for column in range(3))
        clean = cv2.cvtColor(camera.render(x, y, yaw, MARKER_RGB), cv2.COLOR_RGB2BGR)
        writer.write(spoiler.run(clean, time_s, camera.world_to_pixel((x, y))))
    writer.release()
    hidden = (at + lead_s >= occlusion_s[0]) & (at + lead_s < occlusion_s[1])
    return Scene(folder / "tub", video, lead_s, np.array(cte), pose[:, :2], hidden, setup_of(world, camera, k1))
