"""The simulated world: commands in, one tick of time, what the car then sees and where it is.

Laps are counted by sectors, so that cutting across or wobbling on the start line counts nothing.
"""

import math
from dataclasses import dataclass

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.protocols import SOUND, Body
from donkey_aicc.simulator.camera import Camera, CameraConfig
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.vehicle import Vehicle, VehicleConfig

_SECTORS = 8


class LapCounter:
    """Feed it the distance along the track; a lap is done when all sectors were passed in order, line to line."""

    def __init__(self, length_m: float):
        self._length_m = length_m
        self.reset(0.0, 0.0)

    def reset(self, s_m: float, time_s: float) -> None:
        """Forget all laps. A car put down in the first sector starts its lap there and then."""
        self.lap_times: tuple[float, ...] = ()
        self._sector = self._sector_of(s_m)
        self._started_s: float | None = time_s if self._sector == 0 else None

    @property
    def laps(self) -> int:
        return len(self.lap_times)

    def update(self, s_m: float, time_s: float) -> None:
        """Note the car at s_m at time_s."""
        sector = self._sector_of(s_m)
        if sector != (self._sector + 1) % _SECTORS:
            return
        self._sector = sector
        if sector == 0:
            if self._started_s is not None:
                self.lap_times = (*self.lap_times, time_s - self._started_s)
            self._started_s = time_s

    def _sector_of(self, s_m: float) -> int:
        return min(int(s_m / self._length_m * _SECTORS), _SECTORS - 1)


BODY_RADIUS_M = 0.13  # around the middle of the wheelbase
NO_HIT, WALL_HIT = "none", "wall"


@dataclass(frozen=True, eq=False)
class Observation:
    """One tick. image: (height, width, 3) uint8 RGB; metres, radians, m/s, seconds; cte_m > 0 is right of the line."""

    image: np.ndarray
    x: float
    y: float
    yaw: float
    speed: float
    cte_m: float
    s_m: float
    lap: int
    lap_times: tuple[float, ...]
    time_s: float
    hit: str


class World:
    """A car on a track, moved in lock-step at a fixed rate. Same seed and same calls give the same bytes."""

    def __init__(
        self,
        track: Track | str = "loop",
        seed: int = 0,
        rate_hz: float = 20.0,
        camera: CameraConfig | None = None,
        vehicle: VehicleConfig | None = None,
    ):
        if not 1.0 <= rate_hz <= 1000.0:
            raise ConfigError(f"rate_hz must be from 1 to 1000, got {rate_hz}")
        self.track = make_track(track) if isinstance(track, str) else track
        self.rate_hz = float(rate_hz)
        self.camera = Camera(self.track, camera)
        self.vehicle = Vehicle(vehicle)
        self._s_m = self._cte_m = 0.0
        self._laps = LapCounter(self.track.length_m)
        self.reset(seed=seed)

    def reset(
        self,
        pose: tuple[float, float, float] | str | None = None,
        offset_m: float = 0.0,
        heading_offset: float = 0.0,
        seed: int | None = None,
    ) -> Observation:
        """Put the car down at rest and start time and laps anew.

        pose: None for the start line, "random" for any place on the lane, or (x, y, yaw). The offset (metres to the
        right) and heading offset (radians counter-clockwise) apply to the first two. Without a new seed the
        randomness goes on where it was, so that each drive differs.
        """
        if seed is not None:
            self._seed(seed)
        self.time_s = 0.0
        self.suffer()
        self._place(self._wanted_pose(pose, offset_m, heading_offset))
        self.camera.reset(self._camera_rng)
        self._laps.reset(self._s_m, 0.0)
        return self.observe()

    def put_back(self) -> Observation:
        """Set the car on the centreline where it left the track; time and laps go on."""
        self._place(self.track.pose_at(self._s_m))
        return self.observe()

    def suffer(self, body: Body = SOUND) -> None:
        """From the next tick on the car is as faults have made it; without an argument it is sound again."""
        if body is not self.vehicle.body:
            self.vehicle.body = body
            if body.pitch_deg != self.camera.tilt_deg:
                self.camera.tilt(body.pitch_deg)

    def step(self, steering: float | None, throttle: float | None) -> Observation:
        """One tick with commands in [-1, 1] (clipped; None and NaN count as 0). A car that hit a wall stays there."""
        if self.hit == NO_HIT:
            self.vehicle.step(_command(steering), _command(throttle), 1.0 / self.rate_hz)
            self._notice_walls()
        self.time_s += 1.0 / self.rate_hz
        self._s_m, self._cte_m, _ = self.track.project(self.vehicle.x, self.vehicle.y, self._s_m)
        self._laps.update(self._s_m, self.time_s)
        return self.observe()

    def observe(self) -> Observation:
        """A fresh camera frame and the state as it stands; time does not pass."""
        car = self.vehicle
        image = self.camera.render((car.x, car.y, car.yaw), car.speed, car.yaw_rate, self._camera_rng)
        return Observation(
            image=image,
            x=car.x,
            y=car.y,
            yaw=car.yaw,
            speed=car.speed,
            cte_m=self._cte_m,
            s_m=self._s_m,
            lap=self._laps.laps,
            lap_times=self._laps.lap_times,
            time_s=self.time_s,
            hit=self.hit,
        )

    def _seed(self, seed: int) -> None:
        if seed < 0:
            raise ConfigError(f"seed must be >= 0, got {seed}")
        # Separate streams: a change in what one part draws leaves the others as they were.
        self.vehicle.rng = np.random.default_rng([seed, 1])
        self._camera_rng = np.random.default_rng([seed, 2])
        self._place_rng = np.random.default_rng([seed, 3])

    def _wanted_pose(
        self, pose: tuple[float, float, float] | str | None, offset_m: float, heading_offset: float
    ) -> tuple[float, float, float]:
        if pose is None or pose == "random":
            s_m = 0.0 if pose is None else float(self._place_rng.uniform(0.0, self.track.length_m))
            x, y, yaw = self.track.pose_at(s_m, offset_m)
            return x, y, yaw + heading_offset
        if isinstance(pose, str):
            raise ConfigError(f"pose must be None, 'random' or (x, y, yaw), got {pose!r}")
        x, y, yaw = (float(value) for value in pose)
        xmin, ymin, xmax, ymax = self.track.arena
        if not (xmin < x < xmax and ymin < y < ymax and math.isfinite(yaw)):
            raise ConfigError(f"pose must lie inside the arena {self.track.arena}, got {pose}")
        return x, y, yaw

    def _place(self, pose: tuple[float, float, float]) -> None:
        self.vehicle.place(*pose)
        self.hit = NO_HIT
        self._s_m, self._cte_m, _ = self.track.project(self.vehicle.x, self.vehicle.y)

    def _notice_walls(self) -> None:
        car, half = self.vehicle, 0.5 * self.vehicle.config.wheelbase_m
        x, y = car.x + half * math.cos(car.yaw), car.y + half * math.sin(car.yaw)
        xmin, ymin, xmax, ymax = self.track.arena
        if min(x - xmin, xmax - x, y - ymin, ymax - y) < BODY_RADIUS_M:
            self.hit = WALL_HIT
            car.stop()


def _command(value: float | None) -> float:
    if value is None or value != value:
        return 0.0
    return max(-1.0, min(1.0, float(value)))
