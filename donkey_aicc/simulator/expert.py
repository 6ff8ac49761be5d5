"""A driver that knows the true pose: pure pursuit with a long look-ahead, hence one that cuts corners."""

import math

import numpy as np

from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.vehicle import VehicleConfig

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
