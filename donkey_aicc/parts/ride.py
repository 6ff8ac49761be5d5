"""Ride: a car in its world with faults on schedule, tick by tick; the loop of the simulated car without donkeycar around it."""

import math
from typing import Any

import numpy as np

from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.injection_control import InjectionControl
from donkey_aicc.simulator.driving import LastWord
from donkey_aicc.simulator.world import Observation, World

_PILOT = "local"


class Ride:
    """Faults of the frame stand behind the camera, those of the command before the wheels, as in the drive loop.

    `image` is what the driver sees now, `observation` where the car is, `fault` what was done to the newest frame or command.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.last_word: LastWord | None = None  # between the faults of the command and the wheels, as a governor stands
        self.begin()

    def begin(self, faults: str | None = None, *, pose: Any = None, seed: int | None = None, fault_seed: int = 0) -> np.ndarray:
        """Put the car down and count faults (`dark:3@10s-25s`) from here; returns the first frame."""
        schedule = parse_schedule(faults)
        control = InjectionControl(schedule, rate_hz=self.world.rate_hz, seed=fault_seed, physical=True) if schedule else None
        self._sensor = AnomalyInjector(control, "sensor") if control else None
        self._command = AnomalyInjector(control, "command", suffer=self.world.suffer) if control else None
        self.fault = ""
        self.world.reset(pose, seed=seed)
        return self._see(self.world.observe())  # as `drive` begins

    def step(self, steering: float, throttle: float) -> np.ndarray:
        """One tick of the world; returns what the driver sees after it."""
        if self._command is not None:
            steering, throttle, self.fault, _, _ = self._command.run(steering, throttle, _PILOT)
        if self.last_word is not None:
            steering, throttle = self.last_word(self.image, (steering, throttle))
        self.sent = (steering, throttle)
        return self._see(self.world.step(steering, throttle))

    def put_back(self) -> np.ndarray:
        """Set the car on the lane where it left; time, laps and faults go on."""
        return self._see(self.world.put_back())

    def _see(self, observation: Observation) -> np.ndarray:
        self.observation = observation
        self.image: np.ndarray = observation.image
        if self._sensor is not None:
            self.image = self._sensor.run(observation.image, _PILOT, observation.lap + 1)
        return self.image

    def motion(self) -> dict[str, tuple[float, float, float]]:
        """The Unity simulator's triples: x right, y up, z ahead of the start; `car` is (roll, pitch, yaw) in degrees clockwise.

        pos and vel (metres, m/s) are the world's, accel (m/s2) and gyro (rad/s) the car's own.
        """
        car, seen = self.world.vehicle, self.observation
        before, self._speed = getattr(self, "_speed", seen.speed), seen.speed
        ahead = (seen.speed - before) * self.world.rate_hz if seen.time_s else 0.0
        return {
            "pos": (seen.x, 0.0, seen.y),
            "vel": (seen.speed * math.cos(seen.yaw), 0.0, seen.speed * math.sin(seen.yaw)),
            "accel": (-seen.speed * car.yaw_rate, 0.0, ahead),
            "gyro": (0.0, -car.yaw_rate, 0.0),
            "car": (0.0, 0.0, (90.0 - math.degrees(seen.yaw)) % 360.0),
        }
