"""Drives of one seed: a nominal one, and from its moments on the same drive under faults, with every governor and without.

What is alike is driven once: a process forks where a fault begins, and again where a governor acts.
"""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from donkey_aicc.alarm.alarm_policy import DANGER, WATCH
from donkey_aicc.alarm.governor_policy import FULL, STOPPED
from donkey_aicc.errors import AiccError
from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.driving import USER_MODE, Marshal, Tick, drive
from donkey_aicc.simulator.record_drives import world_at_start
from studies.governor.governed_car import GovernedCar, Seat
from studies.governor.own_faults import OWN_FAULTS, Played, played
from studies.governor.rivals import OFF

STANDING_MPS = 0.02
Store = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Case:
    """Everything that decides a drive. protocol '' is nominal; begin: frame of the drive at which the fault begins."""

    track: str
    protocol: str
    severity: int
    seed: int
    governor: str
    begin: int = 0

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


@dataclass
class GovernedDrive:
    """Where this process is: the case it drives, and what it has noted for every governor that is still in it."""

    case: Case
    frames: int  # of the drive, from `begin` on
    outcomes: dict[str, Outcome]
    path: list[tuple[float, float]] = field(default_factory=list)
    hands: Played | None = None  # what an actuator makes of the command, behind the governor
    is_child: bool = False


def drive_seed(
    nominal: Case,
    faulty: Sequence[Case],
    car: GovernedCar | None,
    pilot: str | None,
    store: Store,
    *,
    nominal_frames: int,
    frames: int,
) -> None:
    """Drive a nominal case and every faulty one of the same seed, for all governors in `car`; `store` gets each as it ends.

    nominal_frames: of the nominal drive, which faults do not outlast in their beginning; frames: of each fault.
    """
    world = world_at_start(nominal.track, nominal.seed)
    driver = nominal_driver(world.track, pilot, nominal.seed)
    run = GovernedDrive(nominal, nominal_frames, _fresh(car))

    def fault_of(episode: int) -> Fault | None:
        case = run.case
        if not case.protocol:
            return None
        if case.protocol in OWN_FAULTS:
            fault, run.hands = played(case.protocol, case.seed, world.rate_hz)
            return fault
        return make_fault(case.protocol, case.severity, rate_hz=world.rate_hz, seed=case.seed, episode=episode)

    def last_word(image: np.ndarray, command: tuple[float, float]) -> tuple[float, float]:
        sent = command if car is None else car(image, command)
        return sent if run.hands is None else run.hands.run(*sent)

    def ask(name: str) -> bool:
        """In the child: this governor drives on. In the parent: that was seen to."""
        if not fork():
            run.outcomes, run.is_child = {name: run.outcomes[name]}, True
            return True
        del run.outcomes[name]
        return False

    if car is not None:
        car.ask, car.speed_of = ask, lambda: world.vehicle.speed
    try:
        ticks = drive(world, driver, nominal_frames + frames, fault_of, Marshal(warm_up_frames=0), last_word)
        for number, tick in enumerate(ticks):
            if number >= run.case.begin + run.frames or _note(run, tick, number, world.track.half_width_m, car):
                break
            waiting = [] if run.case.protocol or run.is_child else [case for case in faulty if case.begin > number]
            for case in waiting:
                if case.begin == number + 1 and not fork():
                    run = GovernedDrive(case, frames, _fresh(car), run.path[:], is_child=True)
                    if car is not None:
                        car.sit_down()
                    break
            if car is not None:
                car.keeps_watching = bool(waiting) and not run.is_child
        for name, outcome in run.outcomes.items():
            store(stored(replace(run.case, governor=name), outcome, run.path))
    except BaseException:
        if not run.is_child:
            raise
        traceback.print_exc()
        _leave(1)
    if run.is_child:
        _leave(0)


def fork() -> bool:
    """False in the child, which goes on first; True in the parent, when the child has ended well."""
    sys.stdout.flush()
    child = os.fork()
    if child and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise AiccError("a drive of the study failed; its error stands above")
    return bool(child)


def _leave(code: int) -> None:
    """Without the clean-up of the parent, which is still at work."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _fresh(car: GovernedCar | None) -> dict[str, Outcome]:
    return {name: Outcome() for name in (*(() if car is None else car.governors), OFF)}


def _note(run: GovernedDrive, tick: Tick, number: int, half_width_m: float, car: GovernedCar | None) -> bool:
    """Whether the drive is over: the car was put back, or a governor has brought it to a halt."""
    seen, at = tick.observation, number - run.case.begin
    last = run.path[-1] if run.path else None
    run.path.append((round(seen.x, 3), round(seen.y, 3)))
    way_m = 0.0 if last is None or at <= 0 else float(np.hypot(seen.x - last[0], seen.y - last[1]))
    for name, outcome in run.outcomes.items():
        outcome.distance_m += way_m
        outcome.frames = at + 1
        outcome.beyond_edge_m = max(outcome.beyond_edge_m, abs(seen.cte_m) - half_width_m)
        if abs(seen.cte_m) > half_width_m and outcome.left_lane_at < 0:
            outcome.left_lane_at = at
        if car is not None and name in car.seats:
            _note_governor(outcome, at, car.seats[name])
    return tick.mode == USER_MODE or (car is not None and car.stopped and abs(seen.speed) < STANDING_MPS)


def _note_governor(outcome: Outcome, at: int, seat: Seat) -> None:
    outcome.slowed_frames += seat.action != FULL
    if seat.level in (WATCH, DANGER) and outcome.watch_at < 0:
        outcome.watch_at = at
    if seat.level == DANGER and outcome.danger_at < 0:
        outcome.danger_at, outcome.reason = at, seat.reason
    if seat.action == STOPPED and outcome.stopped_at < 0:
        outcome.stopped_at = at


def stored(case: Case, outcome: Outcome, path: list[tuple[float, float]]) -> dict[str, Any]:
    """One file of the study."""
    return {"case": asdict(case), "outcome": asdict(outcome), "path": path}
