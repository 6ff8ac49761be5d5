"""The simulated world, driven: without the vehicle loop, or by donkeycar's own loop as one of its parts.

Without: a driver, perhaps a fault, and a marshal who puts the car back. Each tick is what a tub record holds: the frame as the
driver saw it, what was sent, and where the car was at that moment. As a part: camera, drivetrain and location in one.
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from donkey_aicc.faults.fault import Fault
from donkey_aicc.faults.protocols import SOUND
from donkey_aicc.simulator.world import NO_HIT, Observation, World

logger = logging.getLogger(__name__)

USER_MODE, PILOT_MODE = "user", "local"


class Driver(Protocol):
    """Whoever chooses the commands."""

    def run(self, image: np.ndarray, observation: Observation) -> tuple[float, float]:
        """(steering, throttle); a vision pilot looks only at the image."""


class FaultSource(Protocol):
    """Gives each injected episode its own fault; None: not yet."""

    def __call__(self, episode: int) -> Fault | None: ...


class LastWord(Protocol):
    """Stands between the commands and the wheels, behind every fault, as a governor does."""

    def __call__(self, image: np.ndarray, command: tuple[float, float]) -> tuple[float, float]: ...


@dataclass(frozen=True)
class Marshal:
    """When the car counts as departed, and what happens then.

    The frames of the wait carry no fault: they are there so that frames before the departure still have a label k steps
    ahead. Without them the most dangerous moments would be the ones without a label.
    """

    departed_m: float = 0.7  # |cte| at which the whole car is off the lane
    wait_frames: int = 50  # the longest horizon
    warm_up_frames: int = 200  # nominal driving before a fault: the scorer's context without the start from rest


@dataclass(frozen=True, eq=False)
class Tick:
    """One record. `segment` counts the put-backs: no sequence may cross a change of it."""

    observation: Observation
    image: np.ndarray  # as the driver saw it
    intended: tuple[float, float]
    sent: tuple[float, float]
    mode: str
    fault: Fault | None
    episode: int  # -1 outside of an episode
    segment: int


def drive(
    world: World,
    driver: Driver,
    frames: int,
    fault_source: FaultSource | None = None,
    marshal: Marshal | None = None,
    last_word: LastWord | None = None,
) -> Iterator[Tick]:
    """Yield `frames` ticks from the world as it stands. The fault starts after the warm-up of each segment."""
    marshal = marshal or Marshal()
    observation = world.observe()
    segment, ticks_in_segment, wait_left = 0, 0, 0
    fault: Fault | None = None
    for _ in range(frames):
        if fault_source is not None and fault is None and not wait_left and ticks_in_segment >= marshal.warm_up_frames:
            fault = fault_source(segment)
        image = fault.sensor.run(observation.image) if fault and fault.sensor else observation.image
        intended = (0.0, 0.0) if wait_left else driver.run(image, observation)
        sent = fault.command.run(*intended) if fault and fault.command else intended
        sent = (min(1.0, max(-1.0, sent[0])), min(1.0, max(-1.0, sent[1])))
        if last_word is not None and not wait_left:
            sent = last_word(image, sent)
        mode = USER_MODE if wait_left else PILOT_MODE
        yield Tick(observation, image, intended, sent, mode, fault, segment if fault else -1, segment)
        ticks_in_segment += 1
        world.suffer(fault.body if fault and fault.body else SOUND)
        observation = world.step(*sent)
        if wait_left:
            wait_left -= 1
            if not wait_left:
                observation = world.put_back()
                segment, ticks_in_segment = segment + 1, 0
        elif observation.hit != NO_HIT or abs(observation.cte_m) > marshal.departed_m:
            fault, wait_left = None, marshal.wait_frames


Channels = tuple[np.ndarray, float, float, float, float, float]


class SimulatorPart:
    """One `run` is one tick of the world. Not threaded, so that a drive is the same on every machine.

    Inputs: steering, throttle. Outputs: image, pos_x, pos_y, pos_z, speed, cte, on the Unity simulator's axes: pos_x
    and pos_z span the floor, pos_y is height.
    """

    def __init__(self, world: World, realtime: bool = False, put_back: bool = False):
        """realtime: never run faster than the world's rate. put_back: after a hit, set the car on the lane again."""
        self.world = world
        self.realtime = realtime
        self.put_back = put_back
        self.departures = 0
        self.observation: Observation = world.observe()
        self._next_tick: float | None = None

    @property
    def laps(self) -> int:
        """Laps completed."""
        return self.observation.lap

    @property
    def lap_times(self) -> tuple[float, ...]:
        """Seconds of simulated time per completed lap."""
        return self.observation.lap_times

    def run(self, steering: float | None = None, throttle: float | None = None) -> Channels:
        """Drive one tick; commands that are no numbers count as 0."""
        if self.realtime:
            self._wait_for_tick()
        if self.put_back and self.world.hit != NO_HIT:
            self.world.put_back()
        was_free = self.world.hit == NO_HIT
        seen = self.world.step(_number(steering), _number(throttle))
        if was_free and seen.hit != NO_HIT:
            self.departures += 1
            logger.warning("The car hit the %s at s = %.2f m after %.1f s", seen.hit, seen.s_m, seen.time_s)
        self.observation = seen
        return seen.image, seen.x, 0.0, seen.y, seen.speed, seen.cte_m

    def shutdown(self) -> None:
        """Say how the drive went."""
        times = ", ".join(f"{lap:.2f} s" for lap in self.lap_times) or "none"
        logger.info("Simulator: %d laps (%s), %d departures", self.laps, times, self.departures)

    def _wait_for_tick(self) -> None:
        """Wait only for what is left of the tick: donkeycar's loop may have slept already."""
        period_s = 1.0 / self.world.rate_hz
        now = time.monotonic()
        if self._next_tick is not None and now < self._next_tick:
            time.sleep(self._next_tick - now)
            self._next_tick += period_s
        else:  # first tick, or late: time lost is not caught up, or the car would leap
            self._next_tick = now + period_s


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
