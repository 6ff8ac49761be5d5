"""Drivers for `sim.drive`: the expert, a vision pilot, and the two in turns for recovery data.

No two drives are driven alike: each has its own line, look-ahead, speed and hand, drawn from its seed.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np

from donkey_aicc.simulator.expert import LOOKAHEAD_M, Expert
from donkey_aicc.simulator.lighting import wander
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.world import Observation

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
