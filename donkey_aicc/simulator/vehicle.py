"""The car: a bicycle model with a lagging servo and motor, limited grip and a little disorder."""

import math
from dataclasses import dataclass, fields

import numpy as np

from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.faults.protocols import SOUND
from donkey_aicc.limits import DIRECT, ESC_KINDS
from donkey_aicc.simulator.speed_controller import SpeedController

_SUBSTEP_S = 0.0125
_NOISES = ("wander_std", "motor_noise_std", "yaw_noise_std", "servo_jitter_std")
_MAY_BE_ZERO = ("servo_lag_s", "motor_lag_s", "rolling_mps2", *_NOISES)


@dataclass(frozen=True)
class VehicleConfig:
    """A 1:16 car. Steering quantities are in units of full lock (1.0 = `max_steer_deg`)."""

    wheelbase_m: float = 0.17
    max_steer_deg: float = 25.0
    servo_lag_s: float = 0.06
    servo_rate_per_s: float = 8.0  # full lock to full lock in a quarter of a second
    motor_accel_mps2: float = 6.0  # at full throttle from standstill
    motor_lag_s: float = 0.10
    drag_per_s: float = 2.0
    rolling_mps2: float = 0.15
    brake_mps2: float = 6.0  # of a speed controller that brakes, at full push
    speed_controller: str = DIRECT  # what it makes of a negative throttle
    grip_mps2: float = 6.0  # sideways acceleration the tyres can hold
    wander_std: float = 0.02  # slow steering disturbance: linkage play, uneven floor
    wander_time_s: float = 8.0
    motor_noise_std: float = 0.02
    yaw_noise_std: float = 0.02  # rad/s per step
    servo_jitter_std: float = 0.01  # of the wheels from tick to tick, as a hobby servo holds its place

    def __post_init__(self) -> None:
        one_of("VehicleConfig.speed_controller", self.speed_controller, ESC_KINDS)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                continue
            minimum_ok = value >= 0 if field.name in _MAY_BE_ZERO else value > 0
            if not (math.isfinite(value) and minimum_ok):
                rule = ">= 0" if field.name in _MAY_BE_ZERO else "> 0"
                raise ConfigError(f"VehicleConfig.{field.name} must be {rule}, got {value}")
        if self.max_steer_deg >= 80:
            raise ConfigError(f"VehicleConfig.max_steer_deg must be < 80, got {self.max_steer_deg}")

    @property
    def turning_radius_m(self) -> float:
        """Radius of the rear axle's path at full lock and walking pace."""
        return self.wheelbase_m / math.tan(math.radians(self.max_steer_deg))


class Vehicle:
    """State of the car; (x, y) is the middle of its rear axle, metres; yaw radians; speed m/s along the car."""

    def __init__(self, config: VehicleConfig | None = None, rng: np.random.Generator | None = None):
        self.config = config or VehicleConfig()
        self.rng = rng if rng is not None else np.random.default_rng(0)
        self.body = SOUND  # what faults have made of it
        self.speed_controller = SpeedController(self.config.speed_controller)
        self.place(0.0, 0.0, 0.0)

    def place(self, x: float, y: float, yaw: float) -> None:
        """Put the car down at rest with straight wheels; its wander starts somewhere in its usual range."""
        self.x, self.y, self.yaw = float(x), float(y), float(yaw)
        self.wander = self.config.wander_std * float(self.rng.standard_normal())
        self.motor_disturbance = self.servo_jitter = 0.0
        self.stop()

    def stop(self) -> None:
        """Kill the motion, keep the place."""
        self.speed = self.yaw_rate = self.steering = self.motor = self.brake = 0.0
        self.speed_controller.reset()

    def step(self, steering: float, throttle: float, dt: float) -> None:
        """Drive for dt seconds with commands in [-1, 1]; steering +1 is right."""
        config = self.config
        wander_noise, motor_noise, yaw_noise, jitter = self.rng.standard_normal(4).tolist()
        keep = math.exp(-dt / config.wander_time_s)
        spread = math.sqrt(1.0 - keep * keep)
        self.wander = keep * self.wander + spread * config.wander_std * wander_noise
        self.motor_disturbance = keep * self.motor_disturbance + spread * config.motor_noise_std * motor_noise
        self.servo_jitter = config.servo_jitter_std * jitter
        yaw_push = config.yaw_noise_std * yaw_noise * min(1.0, abs(self.speed))
        push, brake = self.speed_controller.run(throttle, self.speed)
        steps = max(1, math.ceil(dt / _SUBSTEP_S - 1e-9))
        for _ in range(steps):
            self._substep(steering, push, brake, yaw_push, dt / steps)
        self._forget_last_bits()

    def _forget_last_bits(self) -> None:
        """Sine and tangent differ in the last bit between processors; a drive must not."""
        self.x, self.y, self.yaw, self.speed = (round(value, 9) for value in (self.x, self.y, self.yaw, self.speed))

    def _substep(self, steering: float, push: float, brake: float, yaw_push: float, h: float) -> None:
        config, body = self.config, self.body
        self._move_servo(steering, h)
        self.motor += (push - self.motor) * (h / (h + config.motor_lag_s))
        self.brake += (brake - self.brake) * (h / (h + config.motor_lag_s))
        # Steering to the right turns the car clockwise, hence the minus.
        turned = body.steering_gain * max(-1.0, min(1.0, self.steering + self.wander + self.servo_jitter))
        curvature = math.tan(-math.radians(config.max_steer_deg) * turned) / config.wheelbase_m - body.pull_per_m
        wanted = self.speed * abs(self.speed) * curvature
        grip = body.grip * config.grip_mps2
        sideways = grip * math.tanh(wanted / grip)  # understeer: grip runs out softly
        drive = config.motor_accel_mps2 * self.motor * (1.0 + self.motor_disturbance)
        drive -= body.drag * config.drag_per_s * self.speed + 0.3 * abs(wanted - sideways) * (1 if self.speed > 0 else -1)
        self._accelerate(drive, h)
        self.yaw_rate = sideways / self.speed + yaw_push if abs(self.speed) > 1e-3 else 0.0
        middle = self.yaw + 0.5 * h * self.yaw_rate
        self.x += self.speed * math.cos(middle) * h
        self.y += self.speed * math.sin(middle) * h
        self.yaw = math.remainder(self.yaw + h * self.yaw_rate, 2.0 * math.pi)

    def _move_servo(self, steering: float, h: float) -> None:
        change = (steering - self.steering) * (h / (h + self.config.servo_lag_s))
        limit = self.config.servo_rate_per_s * h
        self.steering += max(-limit, min(limit, change))

    def _accelerate(self, drive: float, h: float) -> None:
        """Rolling resistance and brake may stop the car but never push it."""
        speed, config = self.speed + drive * h, self.config
        held = self.body.drag * config.rolling_mps2 + self.brake * config.brake_mps2
        self.speed = math.copysign(max(0.0, abs(speed) - held * h), speed)
