"""Drivers for `sim.drive`: the expert, a vision pilot, and the two in turns for recovery data."""

import numpy as np

from donkey_aicc.sim.expert import Expert
from donkey_aicc.sim.world import Observation


class ExpertDriver:
    """Drives from the true pose; what it meant to do, without its noise, is kept in `label`."""

    def __init__(self, expert: Expert) -> None:
        self._expert = expert
        self.label = (0.0, 0.0)

    def run(self, image: np.ndarray, observation: Observation) -> tuple[float, float]:
        command = self._expert.run(observation.x, observation.y, observation.yaw, observation.speed)
        self.label = self._expert.intended
        return command


class VisionDriver:
    """Any donkeycar pilot: `run(image) -> (steering, throttle)`."""

    def __init__(self, pilot) -> None:
        self._pilot = pilot

    def run(self, image: np.ndarray, observation: Observation) -> tuple[float, float]:
        return self._pilot.run(image)


class MixedDriver:
    """The pilot drives, the expert says what it would have done; the expert takes over for random spells (DAgger)."""

    def __init__(self, pilot, expert: Expert, expert_share: float, rng: np.random.Generator, spell_ticks: int = 20) -> None:
        self._vision, self._expert = VisionDriver(pilot), ExpertDriver(expert)
        self._share, self._rng, self._spell_ticks = expert_share, rng, spell_ticks
        self._tick, self._expert_drives = 0, True

    @property
    def label(self) -> tuple[float, float]:
        return self._expert.label

    def run(self, image: np.ndarray, observation: Observation) -> tuple[float, float]:
        if self._tick % self._spell_ticks == 0:
            self._expert_drives = bool(self._rng.random() < self._share)
        self._tick += 1
        by_expert = self._expert.run(image, observation)
        by_pilot = self._vision.run(image, observation)
        return by_expert if self._expert_drives else by_pilot
