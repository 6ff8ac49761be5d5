"""One drive of the study: nominal at first, then a fault, with one governor or none."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.driving import USER_MODE, Marshal, drive
from donkey_aicc.simulator.world import World
from studies.governor.governed_car import GovernedCar

STANDING_MPS = 0.02
STANDING_FRAMES = 20  # a car that the governor has stopped for a second will not leave its lane any more


@dataclass(frozen=True)
class Case:
    """Everything that decides a drive. protocol '' is nominal."""

    track: str
    protocol: str
    severity: int
    seed: int
    governor: str

    @property
    def name(self) -> str:
        kind = f"{self.protocol or 'nominal'}{self.severity or ''}"
        return f"{self.track.replace(':', '_')}-{kind}-{self.seed}-{self.governor.replace(' ', '_')}"


@dataclass
class Outcome:
    """Frames count from the start of the fault (nominal drives: from the start of the drive); -1: never."""

    frames: int = 0
    left_lane_at: int = -1
    beyond_edge_m: float = 0.0
    distance_m: float = 0.0
    watch_at: int = -1
    danger_at: int = -1
    stopped_at: int = -1
    slowed_frames: int = 0
    reason: str = ""


def drive_case(
    case: Case, car: GovernedCar | None, pilot: str, *, warm_up: int, frames: int
) -> tuple[Outcome, list[tuple[float, float]]]:
    """The outcome and the path, (x, y) per frame from the start of the drive."""
    world = World(case.track, seed=case.seed)
    world.reset("random")
    driver = nominal_driver(world.track, pilot, case.seed)
    faulty = bool(case.protocol)

    def fault_of(episode: int) -> Fault:
        return make_fault(case.protocol, case.severity, rate_hz=world.rate_hz, seed=case.seed, episode=episode)

    marshal = Marshal(warm_up_frames=warm_up)
    ticks = drive(world, driver, (warm_up if faulty else 0) + frames, fault_of if faulty else None, marshal, car)
    outcome, path, last, standing = Outcome(), [], None, 0
    for number, tick in enumerate(ticks):
        seen = tick.observation
        path.append((round(seen.x, 3), round(seen.y, 3)))
        here = np.array([seen.x, seen.y])
        at = number - (warm_up if faulty else 0)
        if at >= 0:
            outcome.distance_m += 0.0 if last is None else float(np.hypot(*(here - last)))
            _note(outcome, at, abs(seen.cte_m) - world.track.half_width_m, car)
        last = here
        stopped = car is not None and car.action == "stopped"
        standing = standing + 1 if stopped and abs(seen.speed) < STANDING_MPS else 0
        if tick.mode == USER_MODE or (at >= 0 and standing >= STANDING_FRAMES):
            break
    return outcome, path


def _note(outcome: Outcome, at: int, beyond_m: float, car: GovernedCar | None) -> None:
    outcome.frames = at + 1
    outcome.beyond_edge_m = max(outcome.beyond_edge_m, beyond_m)
    if beyond_m > 0.0 and outcome.left_lane_at < 0:
        outcome.left_lane_at = at
    if car is None:
        return
    outcome.slowed_frames += car.action in ("slowed", "stopped")
    if car.level in ("watch", "danger") and outcome.watch_at < 0:
        outcome.watch_at = at
    if car.level == "danger" and outcome.danger_at < 0:
        outcome.danger_at, outcome.reason = at, car.reason
    if car.action == "stopped" and outcome.stopped_at < 0:
        outcome.stopped_at = at


def stored(case: Case, outcome: Outcome, path: list[tuple[float, float]]) -> dict[str, Any]:
    """One file of the study."""
    return {"case": asdict(case), "outcome": asdict(outcome), "path": path}
