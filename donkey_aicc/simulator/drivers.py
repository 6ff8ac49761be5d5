"""Drivers for `sim.drive`: the expert, a vision pilot, and the two in turns for recovery data."""

from pathlib import Path

import numpy as np

from donkey_aicc.simulator.expert import LOOKAHEAD_M, Expert
from donkey_aicc.simulator.temper import Hand, Temper, TemperedPilot
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.world import Observation


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
