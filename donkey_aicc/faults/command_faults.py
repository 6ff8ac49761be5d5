"""Faults between the pilot and the drive train: (steering, throttle) in, what the drive train really gets out."""

from collections import deque
from typing import Protocol

import numpy as np

from donkey_aicc.faults.protocols import BiasParameters, LatencyParameters


class CommandFault(Protocol):
    """What every command fault offers. Results may leave [-1, 1]: the injector bounds them once, after all faults."""

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        """The command of this tick as the faulty drive train carries it out."""

    def reset(self) -> None:
        """Start the episode again from its first tick."""


class Bias:
    """A lasting offset, steering to one side drawn per episode, plus Gaussian noise on both commands."""

    def __init__(self, parameters: BiasParameters, seed: tuple[int, ...]) -> None:
        self.parameters = parameters
        self.seed = seed
        self.reset()

    def reset(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self.side = 1.0 if self._rng.random() < 0.5 else -1.0

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        of = self.parameters
        steering_noise, throttle_noise = self._rng.normal(0.0, 1.0, 2)
        steering += self.side * of.steering_offset + of.steering_noise_std * steering_noise
        if throttle != 0.0:  # a car told to stand still stays where it is
            throttle += of.throttle_offset + of.throttle_noise_std * throttle_noise
        return float(steering), float(throttle)


class LateCommands:
    """Commands arrive a set time late; until the first one has come through, it is held."""

    def __init__(self, parameters: LatencyParameters, rate_hz: float) -> None:
        self.delay_ticks = round(parameters.command_delay_s * rate_hz)
        self.reset()

    def reset(self) -> None:
        self._waiting: deque[tuple[float, float]] = deque(maxlen=self.delay_ticks + 1)

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        self._waiting.append((float(steering), float(throttle)))
        return self._waiting[0]


class SpeedMismatch:
    """The drive train answers the throttle with more speed than it was set up for."""

    def __init__(self, throttle_factor: float) -> None:
        self.throttle_factor = throttle_factor

    def run(self, steering: float, throttle: float) -> tuple[float, float]:
        return float(steering), float(throttle) * self.throttle_factor

    def reset(self) -> None:
        """Nothing is remembered between ticks."""
