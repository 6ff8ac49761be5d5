"""How much each protocol and severity really disturbs the driving: many seeds, mean |cte| and share of departures."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.faults.protocols import PROTOCOLS, SEVERITIES
from donkey_aicc.simulator.driving import USER_MODE, Driver, Marshal, drive
from donkey_aicc.simulator.world import World

NOMINAL = ""
CASES = ((NOMINAL, 0), *((protocol, severity) for protocol in PROTOCOLS for severity in SEVERITIES))


@dataclass(frozen=True)
class Strength:
    """One row of the table, over all seeds."""

    protocol: str
    severity: int
    mean_abs_cte_m: float
    standard_error_m: float
    departed_share: float


def disturbed_drive(world: World, driver: Driver, protocol: str, severity: int, seed: int, frames: int) -> tuple[float, bool]:
    """(mean |cte| in metres over `frames` disturbed ticks, whether the car departed).

    After a departure the remaining ticks count with the limit at which it departed: leaving early must not look harmless.
    """
    marshal = Marshal()
    world.reset(pose="random", seed=seed)

    def fault_of(episode: int) -> Fault:
        return make_fault(protocol, severity, rate_hz=world.rate_hz, seed=seed, episode=episode)

    abs_cte_m: list[float] = []
    ticks = drive(world, driver, marshal.warm_up_frames + frames, fault_of if protocol else None, marshal)
    for number, tick in enumerate(ticks):
        if tick.mode == USER_MODE:
            break
        if number >= marshal.warm_up_frames:
            abs_cte_m.append(min(abs(tick.observation.cte_m), marshal.departed_m))
    missing = frames - len(abs_cte_m)
    return float(np.mean(abs_cte_m + [marshal.departed_m] * missing)), missing > 0


def strength_of(
    protocol: str, severity: int, make_driver: Callable[[int], Driver], *, track: str, seeds: int, frames: int
) -> Strength:
    """Drive one case once per seed; make_driver gets the seed."""
    world = World(track)
    runs = [disturbed_drive(world, make_driver(seed), protocol, severity, seed, frames) for seed in range(seeds)]
    ctes = np.array([cte for cte, _ in runs])
    error = float(ctes.std(ddof=1) / np.sqrt(seeds)) if seeds > 1 else float("nan")
    return Strength(protocol, severity, float(ctes.mean()), error, float(np.mean([departed for _, departed in runs])))


def grows(rows: list[Strength]) -> dict[str, bool]:
    """protocol -> whether mean |cte| grows and the share of departures never falls, from the nominal row upwards."""
    verdict = {}
    nominal = [row for row in rows if row.protocol == NOMINAL]
    for protocol in PROTOCOLS:
        steps = nominal + sorted((row for row in rows if row.protocol == protocol), key=lambda row: row.severity)
        pairs = list(zip(steps, steps[1:], strict=False))
        verdict[protocol] = bool(pairs) and all(
            after.mean_abs_cte_m > before.mean_abs_cte_m and after.departed_share >= before.departed_share
            for before, after in pairs
        )
    return verdict
