"""DonkeyEnv: the embedded simulator as a gymnasium environment, with gym-donkeycar's spaces, info and reward."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.parts.ride import Ride
from donkey_aicc.simulator.camera import CameraConfig
from donkey_aicc.simulator.driving import Marshal
from donkey_aicc.simulator.view_from_above import OverheadCamera
from donkey_aicc.simulator.world import NO_HIT, World

Sampler = Callable[[np.random.Generator], str | None]
# What gym-donkeycar's users have in their `conf` for the Unity simulator, and what means nothing here.
_ONLY_UNITY = {"exe_path", "host", "port", "start_delay", "log_level", "level", "guid", "racer_name", "country", "bio"}
_ONLY_UNITY |= {"body_style", "body_rgb", "car_name", "font_size", "car_config"}
_LARGEST_SEED = 2**31


@dataclass(frozen=True)
class EnvSettings:
    """Arguments of gymnasium.make; lengths are in metres, where the Unity simulator has units of its own."""

    cam_resolution: tuple[int, int, int] = (120, 160, 3)  # height, width, channels
    faults: str | Sampler | None = None  # `dark:3@10s`, or a function of the episode's random numbers that gives one
    max_cte: float = Marshal.departed_m  # |cte| of a departure: the whole car is off the lane
    end_at_departure: bool = True  # False: the reward goes down, and a car that hit the wall is put back on the lane
    laps: int | None = None  # the episode ends after so many
    start: str = "line"  # or random: anywhere on the lane
    frame_skip: int = 1  # ticks of one step
    steer_limit: float = 1.0
    throttle_min: float = 0.0
    throttle_max: float = 1.0
    rate_hz: float = 20.0  # ticks in a second of the world

    @classmethod
    def of(cls, conf: Mapping[str, Any] | None, given: Mapping[str, Any]) -> "EnvSettings":
        """gym-donkeycar's `conf` and our own arguments, which win."""
        wanted = {key: value for key, value in (conf or {}).items() if key not in _ONLY_UNITY} | dict(given)
        for name in wanted:
            one_of("environment argument", name, [field.name for field in fields(cls)])
        return cls(**wanted)

    def __post_init__(self) -> None:
        shape = tuple(self.cam_resolution)
        if len(shape) != 3 or shape[2] != 3:
            raise ConfigError(f"cam_resolution must be (height, width, 3), got {self.cam_resolution!r}")
        one_of("start", self.start, ("line", "random"))
        for name, low in (("frame_skip", 1), ("laps", 1)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < low):
                raise ConfigError(f"{name} must be a whole number >= {low}, got {value!r}")
        if not 0.0 < self.max_cte < math.inf:
            raise ConfigError(f"max_cte must be > 0 m, got {self.max_cte!r}")
        if not 0.0 < self.steer_limit <= 1.0 or not -1.0 <= self.throttle_min < self.throttle_max <= 1.0:
            limits = (self.steer_limit, self.throttle_min, self.throttle_max)
            raise ConfigError(f"steer_limit, throttle_min and throttle_max must lie in [-1, 1] in this order, got {limits}")
        if not callable(self.faults):
            parse_schedule(self.faults)  # a mistake shows itself here


class DonkeyEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A car on a track. Actions: (steering, throttle). Observations: the camera's RGB frame, uint8.

    The same seed and actions give the same bytes as `simulator.drive`. Reward, unless `set_reward_fn` gave another: forward speed
    times what is left of max_cte; -1 beyond it and at the end by a departure, -2 at a wall.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(
        self, track: str = "loop", render_mode: str | None = None, conf: Mapping[str, Any] | None = None, **settings: Any
    ) -> None:
        """settings: the fields of EnvSettings."""
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"render_mode must be None or rgb_array, got {render_mode!r}")
        self.settings = known = EnvSettings.of(conf, settings)
        height, width, _ = known.cam_resolution
        self.ride = Ride(World(track, rate_hz=known.rate_hz, camera=CameraConfig(int(width), int(height))))
        self.render_mode = render_mode
        self._overhead: OverheadCamera | None = None
        low, high = [-known.steer_limit, known.throttle_min], [known.steer_limit, known.throttle_max]
        self.action_space = gymnasium.spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(0, 255, tuple(known.cam_resolution), np.uint8)
        self.set_reward_fn(usual_reward)
        self._seeded = False

    def set_reward_fn(self, reward_fn: Callable[[Any, bool], float]) -> None:
        """As gym-donkeycar has it: (state with cte, speed, hit and the other info, over) -> reward."""
        self._reward = reward_fn

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """options: `faults` of this episode, `pose` as for World.reset; without a seed the randomness goes on where it was."""
        super().reset(seed=seed)
        known: dict[str, Any] = {"faults": self.settings.faults, "pose": None if self.settings.start == "line" else "random"}
        for name, value in (options or {}).items():
            one_of("reset option", name, list(known))
            known[name] = value
        fault_seed = int(self.np_random.integers(_LARGEST_SEED)) if seed is None else seed
        faults = known["faults"](self.np_random) if callable(known["faults"]) else known["faults"]
        world_seed = seed if seed is not None or self._seeded else fault_seed
        self._seeded = True
        image = self.ride.begin(faults, pose=known["pose"], seed=world_seed, fault_seed=fault_seed)
        return image, self._info(self.ride.motion())

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One or, with frame_skip, several ticks; truncation is for gymnasium's TimeLimit."""
        steering, throttle = (float(value) for value in action)
        rules, reward, over = self.settings, 0.0, False
        for _ in range(rules.frame_skip):
            image = self.ride.step(steering, throttle)
            info = self._info(self.ride.motion())
            gone = abs(info["cte"]) > rules.max_cte or info["hit"] != NO_HIT
            over = gone and rules.end_at_departure
            reward = float(self._reward(SimpleNamespace(**info, max_cte=rules.max_cte), over))
            over = over or rules.laps is not None and info["lap_count"] >= rules.laps
            if over:
                break
            if info["hit"] != NO_HIT:
                image = self.ride.put_back()
        return image, reward, over, False, info

    def render(self) -> np.ndarray | None:
        """(480, 640, 3) uint8: the view from above."""
        if self.render_mode is None:
            return None
        seen = self.ride.observation
        self._overhead = self._overhead or OverheadCamera(self.ride.world.track)
        return self._overhead.render(seen.x, seen.y, seen.yaw)

    def _info(self, motion: dict[str, tuple[float, float, float]]) -> dict[str, Any]:
        seen = self.ride.observation
        return {
            **motion,
            "cte": seen.cte_m,
            "speed": abs(seen.speed),
            "forward_vel": seen.speed,
            "hit": seen.hit,
            "lidar": [],
            "last_lap_time": seen.lap_times[-1] if seen.lap_times else 0.0,
            "lap_count": seen.lap,
            "fault": self.ride.fault,
        }


def usual_reward(state: Any, over: bool) -> float:
    """gym-donkeycar's."""
    if over or abs(state.cte) > state.max_cte:
        return -1.0
    if state.hit != NO_HIT:
        return -2.0
    forward: float = state.forward_vel
    return (1.0 - abs(state.cte) / state.max_cte) * forward if forward > 0.0 else forward


def generated_env(seed: int = 0, **arguments: Any) -> DonkeyEnv:
    """A generated track by its number."""
    return DonkeyEnv(track=f"seed:{seed}", **arguments)
