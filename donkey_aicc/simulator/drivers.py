"""Drivers of recorded drives: the expert, a vision pilot, the two in turns; and the temper that makes no two drives alike."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np

from donkey_aicc.simulator.lighting import wander
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.vehicle import VehicleConfig
from donkey_aicc.simulator.world import Observation

_SIGHT_M, _SHARP_PER_M = 0.9, 1.2  # how far it looks for bends, and what counts as a sharp one
LOOKAHEAD_M = 1.2
_BURST_EVERY_S, _BURST_S = 2.5, 0.6


class Expert:
    """Steers at a point `lookahead_m` further along the track.

    The further it looks the more it cuts, always at the same places: imperfect, but predictable. With noise_std > 0
    its commanded steering is pushed in bursts; `intended` keeps what it meant to do, the label for recovery data.
    """

    def __init__(
        self,
        track: Track,
        lookahead_m: float = LOOKAHEAD_M,
        line_m: float = 0.0,
        target_speed_mps: float = 1.3,
        corner_speed_mps: float = 1.05,
        noise_std: float = 0.0,
        rng: np.random.Generator | None = None,
        vehicle: VehicleConfig | None = None,
        rate_hz: float = 20.0,
    ):
        self.track = track
        self.lookahead_m = lookahead_m
        self.line_m = line_m  # right of the centreline
        self.target_speed_mps = target_speed_mps
        self.corner_speed_mps = corner_speed_mps
        self.noise_std = noise_std
        self.rng = rng if rng is not None else np.random.default_rng(0)
        self.intended = (0.0, 0.0)
        self._vehicle = vehicle or VehicleConfig()
        self._rate_hz = rate_hz
        self._bend_ahead = _bend_ahead(track)
        self._hint_s_m: float | None = None
        self._burst, self._burst_left = 0.0, 0

    def reset(self) -> None:
        """Forget where the car was: call after it was put somewhere else."""
        self._hint_s_m = None
        self._burst_left = 0

    def run(self, x: float, y: float, yaw: float, speed: float) -> tuple[float, float]:
        """(steering, throttle) in [-1, 1] from the true pose (metres, radians) and speed (m/s)."""
        s_m, _, _ = self.track.project(x, y, self._hint_s_m)
        self._hint_s_m = s_m
        steering = self._pursue(x, y, yaw, s_m)
        throttle = self._hold_speed(speed, s_m)
        self.intended = (steering, throttle)
        return max(-1.0, min(1.0, steering + self._disturbance())), throttle

    def _pursue(self, x: float, y: float, yaw: float, s_m: float) -> float:
        goal_x, goal_y, _ = self.track.pose_at(s_m + self.lookahead_m, self.line_m)
        dx, dy = goal_x - x, goal_y - y
        left = -dx * math.sin(yaw) + dy * math.cos(yaw)
        distance_squared = max(dx * dx + dy * dy, 0.04)
        wheel = math.atan(2.0 * self._vehicle.wheelbase_m * left / distance_squared)
        return max(-1.0, min(1.0, -wheel / math.radians(self._vehicle.max_steer_deg)))

    def _hold_speed(self, speed: float, s_m: float) -> float:
        """Slower where the next metre bends, like a driver who lifts off before the corner."""
        bend = float(self._bend_ahead[int(s_m / self.track.spacing_m) % len(self._bend_ahead)])
        target = self.target_speed_mps + bend * (self.corner_speed_mps - self.target_speed_mps)
        feed_forward = (self._vehicle.drag_per_s * target + self._vehicle.rolling_mps2) / self._vehicle.motor_accel_mps2
        return max(0.0, min(1.0, feed_forward + 0.25 * (target - speed)))

    def _disturbance(self) -> float:
        if self.noise_std <= 0.0:
            return 0.0
        if self._burst_left > 0:
            self._burst_left -= 1
            return self._burst
        if self.rng.random() < 1.0 / (_BURST_EVERY_S * self._rate_hz):
            self._burst = float(self.noise_std * self.rng.standard_normal())
            self._burst_left = int(_BURST_S * self._rate_hz * self.rng.uniform(0.5, 1.5))
        return 0.0


def _bend_ahead(track: Track) -> np.ndarray:
    """(N,) from 0 (straight) to 1 (sharp): mean curvature of the stretch in front of each point."""
    count = int(_SIGHT_M / track.spacing_m)
    sums = np.cumsum(np.concatenate([[0.0], np.abs(track.curvature), np.abs(track.curvature[:count])]))
    return np.minimum(1.0, (sums[count:-1] - sums[: -count - 1]) / count / _SHARP_PER_M)


_WANDER_FRAMES = 300.0  # 15 s
_THROTTLE_JITTER = 0.02
STEPS = 1024  # of a command from 0 to 1: as fine as a servo controller sends it


class Pilot(Protocol):
    """donkeycar's pilot interface."""

    def run(self, img_arr: np.ndarray | None) -> tuple[float, float]: ...


@dataclass(frozen=True)
class Temper:
    """How one drive is driven: by what the pilot sees, moved by shares of the picture, and by what its hand does."""

    line: float = 0.0  # of the width: the pilot looks this much to the side, and so drives beside its usual line
    line_wander: float = 0.0  # standard deviation of the same inside the drive, over some seconds
    look_ahead: float = 0.0  # of the height: > 0 looks further ahead, and cuts bends more
    speed: float = 1.0  # factor on the throttle
    hand: float = 1.0  # factor on the steering: a firm or a loose hand
    jitter: float = 0.0  # standard deviation of the steering from tick to tick

    @classmethod
    def draw(cls, seed: int) -> "Temper":
        """The temper of the drive with this seed; the ranges are what counts as nominal."""
        rng = np.random.default_rng([seed, 14])
        return cls(
            line=_between(rng, -0.012, 0.012),
            line_wander=_between(rng, 0.002, 0.006),
            look_ahead=_between(rng, -0.01, 0.003),
            speed=_between(rng, 0.93, 1.07),
            hand=_between(rng, 0.98, 1.06),
            jitter=_between(rng, 0.008, 0.03),
        )

    def metadata(self) -> dict[str, str]:
        """For a tub's manifest."""
        return {f"temper_{name}": f"{value:.4f}" for name, value in asdict(self).items()}


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 4)


class Hand:
    """The hand on the wheel and the controller behind it: what was meant -> what is sent."""

    def __init__(self, temper: Temper, seed: int) -> None:
        self._temper = temper
        self._rng = np.random.default_rng([seed, 16])

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        """Commands in [-1, 1], in steps of 1/1024."""
        jitter, unsteady = self._rng.standard_normal(2).tolist()
        steering = self._temper.hand * steering + self._temper.jitter * jitter
        return in_steps(steering), in_steps(throttle * self._temper.speed * (1.0 + _THROTTLE_JITTER * unsteady))


class TemperedPilot:
    """A pilot with a temper: `run(image) -> (steering, throttle)`, like the one it wraps."""

    def __init__(self, pilot: Pilot, temper: Temper, seed: int) -> None:
        self._pilot, self.temper = pilot, temper
        self._hand, self._rng = Hand(temper, seed), np.random.default_rng([seed, 15])
        self._line = temper.line_wander * float(self._rng.standard_normal())

    def run(self, img_arr: np.ndarray | None, *_: object) -> tuple[float, float]:
        """(H, W, 3) uint8 RGB -> commands in [-1, 1]."""
        self._line = wander(self._line, self.temper.line_wander, _WANDER_FRAMES, float(self._rng.standard_normal()))
        seen = img_arr if img_arr is None else self._look(img_arr)
        return self._hand.run(*self._pilot.run(seen))

    def _look(self, image: np.ndarray) -> np.ndarray:
        height, width = image.shape[:2]
        right = round(64 * width * (self.temper.line + self._line)) / 64
        down = round(64 * height * self.temper.look_ahead) / 64
        shift = np.array([[1.0, 0.0, right], [0.0, 1.0, down]])
        return cv2.warpAffine(image, shift, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)

    def shutdown(self) -> None:
        """As the pilot inside does."""
        getattr(self._pilot, "shutdown", lambda: None)()


def in_steps(command: float) -> float:
    """A command as the controller sends it: within [-1, 1], in steps of 1/1024."""
    return max(-1.0, min(1.0, round(command * STEPS) / STEPS)) if math.isfinite(command) else 0.0


class ExpertDriver:
    """Drives from the true pose; what it meant to do, without its noise, is kept in `label`."""

    def __init__(self, expert: Expert, hand: Hand | None = None) -> None:
        self._expert, self._hand = expert, hand
        self.label = (0.0, 0.0)

    def run(self, image: np.ndarray, observation: Observation) -> tuple[float, float]:
        command = self._expert.run(observation.x, observation.y, observation.yaw, observation.speed)
        self.label = self._expert.intended
        return command if self._hand is None else self._hand.run(*command)


class VisionDriver:
    """Any donkeycar pilot: `run(image) -> (steering, throttle)`."""

    def __init__(self, pilot) -> None:
        self._pilot = pilot

    def run(self, image: np.ndarray, observation: Observation) -> tuple[float, float]:
        return self._pilot.run(image)


def nominal_driver(track: Track, model: str | Path | None, seed: int) -> "ExpertDriver | VisionDriver":
    """Whoever drives a nominal drive with this seed, with the drive's temper; no model: the expert."""
    temper = Temper.draw(seed)
    if model is None:
        # About what a shift of the picture does to the shipped pilot.
        expert = Expert(track, LOOKAHEAD_M * (1.0 + 5.0 * temper.look_ahead), line_m=-3.0 * temper.line)
        return ExpertDriver(expert, Hand(temper, seed))
    from donkey_aicc.nets.vision_pilot import VisionPilot

    pilot = VisionPilot()
    pilot.load(model)
    return VisionDriver(TemperedPilot(pilot, temper, seed))
