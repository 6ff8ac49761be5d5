"""Is a pilot fit for the experiment? It must stay off the walls, and err at the same places in every drive."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from donkey_aicc.progress import progress
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.driving import drive
from donkey_aicc.simulator.world import NO_HIT, World
from studies.place_predictability import PlacedDrive, median_tau, place_auroc

HORIZON = 50
MAX_TICKS_PER_LAP = 2000


@dataclass(frozen=True)
class LapReport:
    """`laps` completed of `wanted` without touching a wall or being put back."""

    track: str
    wanted: int
    laps: int
    mean_lap_s: float
    mean_abs_cte_m: float
    max_abs_cte_m: float


@dataclass(frozen=True)
class NominalReport:
    """Over seeded drives: the tau that makes half of the frames safe, and what the place alone predicts 50 steps ahead."""

    track: str
    drives: int
    tau_m: float
    place_auroc: float
    departures: int


def check_laps(track: str, model: str | Path, laps: int = 10, seed: int = 0) -> LapReport:
    """Drive until the laps are done, the car hits something, or it is plainly stuck."""
    world = World(track, seed=seed)
    driver = nominal_driver(world.track, model, seed)
    cte: list[float] = []
    observation = world.observe()
    while observation.lap < laps and observation.hit == NO_HIT and len(cte) < laps * MAX_TICKS_PER_LAP:
        observation = world.step(*driver.run(observation.image, observation))
        cte.append(observation.cte_m)
    lap_s = float(np.mean(observation.lap_times)) if observation.lap_times else float("nan")
    return LapReport(track, laps, observation.lap, lap_s, float(np.mean(np.abs(cte))), float(np.max(np.abs(cte))))


def check_nominal(track: str, model: str | Path, drives: int = 25, frames: int = 750, seed: int = 0) -> NominalReport:
    """Seeded nominal drives from random places, as the experiment records them."""
    placed, departures = [], 0
    for number in progress(range(drives), f"nominal drives on {track}", unit="drive"):
        own, segments = _placed_drive(track, model, frames, seed + number)
        placed += own
        departures += segments - 1
    tau = median_tau(placed)
    return NominalReport(track, drives, tau, place_auroc(placed, tau, HORIZON), departures)


def _placed_drive(track: str, model: str | Path, frames: int, seed: int) -> tuple[list[PlacedDrive], int]:
    world = World(track, seed=seed)
    world.reset("random")
    places: dict[int, list[tuple[float, float]]] = {}
    for tick in drive(world, nominal_driver(world.track, model, seed), frames):
        places.setdefault(tick.segment, []).append((tick.observation.s_m, tick.observation.cte_m))
    long_enough = [np.array(rows) for rows in places.values() if len(rows) > HORIZON]
    return [PlacedDrive(rows[:, 0], rows[:, 1]) for rows in long_enough], len(places)


def print_reports(laps: Sequence[LapReport], nominal: Sequence[NominalReport]) -> None:
    """Two small tables."""
    print(f"{'track':<10} {'laps':>7} {'lap time s':>11} {'mean |cte| m':>13} {'max |cte| m':>12}")
    for row in laps:
        counted = f"{row.laps}/{row.wanted}"
        print(f"{row.track:<10} {counted:>7} {row.mean_lap_s:>11.2f} {row.mean_abs_cte_m:>13.3f} {row.max_abs_cte_m:>12.3f}")
    print(f"\n{'track':<10} {'drives':>7} {'departures':>11} {'tau m':>13} {'place AUROC k=50':>17}")
    for found in nominal:
        numbers = f"{found.drives:>7} {found.departures:>11} {found.tau_m:>13.3f} {found.place_auroc:>17.3f}"
        print(f"{found.track:<10} {numbers}")
