"""A drive in the simulated world without the vehicle loop: a driver, perhaps a fault, and a marshal who puts the car back.

Each tick is what a tub record holds: the frame as the driver saw it, what was sent, and where the car was at that moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from donkey_aicc.faults.fault import Fault
from donkey_aicc.faults.protocols import SOUND
from donkey_aicc.simulator.world import NO_HIT, Observation, World

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
