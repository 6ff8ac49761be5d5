"""Records whole sets of simulated drives as tubs: the data that training, calibration and evaluation start from."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.files import remove_leftovers
from donkey_aicc.progress import progress
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.driving import Marshal, drive
from donkey_aicc.simulator.temper import Temper
from donkey_aicc.simulator.tub_recording import TubRecording
from donkey_aicc.simulator.world import World
from donkey_aicc.workers import in_workers

MAX_START_OFFSET_M = 0.1


@dataclass(frozen=True)
class DrivePlan:
    """One tub: everything that decides its content."""

    path: Path
    track: str
    seed: int
    frames: int
    protocol: str = ""  # '' is nominal
    severity: int = 0
    overrides: Mapping[str, float] = field(default_factory=dict)  # of the protocol's parameters

    def fault(self, episode: int, rate_hz: float) -> Fault:
        """The fault of one episode of this drive; the same plan gives the same fault, tick by tick."""
        return make_fault(
            self.protocol, self.severity, rate_hz=rate_hz, seed=self.seed, episode=episode, overrides=self.overrides
        )


def plan_nominal(
    out: str | Path, track: str, drives: int, frames: tuple[int, int], seed: int, name: str = "nominal", stream: int = 0
) -> list[DrivePlan]:
    """Nominal drives with lengths drawn from the (first, last) range of frames; another stream, other drives."""
    if not 1 <= frames[0] <= frames[1]:
        raise AiccError(f"frames must be a range first-last with 1 <= first <= last, got {frames[0]}-{frames[1]}")
    lengths = np.random.default_rng([seed, 11, stream]).integers(frames[0], frames[1] + 1, drives)
    return [DrivePlan(Path(out) / f"{name}_{i:03d}", track, _drive_seed(seed, stream, i), int(n)) for i, n in enumerate(lengths)]


def plan_protocol(
    out: str | Path, track: str, protocol: str, severities: Sequence[int], runs: int, frames: int, seed: int
) -> list[DrivePlan]:
    """`runs` drives for each severity of a fault."""
    plans = []
    for severity in severities:
        for run in range(runs):
            number = severity * 1000 + run
            path = Path(out) / f"{protocol}_s{severity}_{run:02d}"
            stream = 1 + sum(map(ord, protocol))
            plans.append(DrivePlan(path, track, _drive_seed(seed, stream, number), frames, protocol, severity))
    return plans


def _drive_seed(seed: int, stream: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, stream, number]).generate_state(1)[0])


def record(plans: Sequence[DrivePlan], model: str | Path | None, workers: int = 1) -> int:
    """Record what is not there yet, with the pilot in `model` (None: the expert). Returns the number of new tubs.

    Each tub appears under its name only when it is complete, so that an interrupted recording goes on where it was.
    """
    missing = [plan for plan in plans if not plan.path.exists()]
    jobs: Iterable[Path]
    if workers > 1 and len(missing) > 1:
        jobs = in_workers(record_one, ((plan, model) for plan in missing), workers)
    else:
        jobs = (record_one(plan, model) for plan in missing)
    for _ in progress(jobs, "recording drives", total=len(missing), unit="drive"):
        pass
    return len(missing)


def record_one(plan: DrivePlan, model: str | Path | None) -> Path:
    """Drive one plan and write its tub; returns where it is."""
    world = world_at_start(plan.track, plan.seed)
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(plan.path)
    unfinished = plan.path.with_name(f".{plan.path.stem}.{os.getpid()}-drive{plan.path.suffix}")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        driver = nominal_driver(world.track, model, plan.seed)
        with TubRecording(unfinished, metadata=_metadata(plan, world)) as tub:
            for tick in drive(world, driver, plan.frames, _fault_source(plan, world.rate_hz), Marshal()):
                tub.write(tick)
        os.replace(unfinished, plan.path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return plan.path


def world_at_start(track: str, seed: int) -> World:
    """The car stands at a place of the seed's own, a little beside the line."""
    world = World(track, seed=seed)
    rng = np.random.default_rng([seed, 12])
    world.reset("random", offset_m=float(rng.uniform(-MAX_START_OFFSET_M, MAX_START_OFFSET_M)))
    return world


def _metadata(plan: DrivePlan, world: World) -> dict[str, str]:
    """What decided this drive, for the tub's manifest."""
    return {
        "track": plan.track.replace(":", "_"),
        "seed": str(plan.seed),
        "protocol": plan.protocol or "nominal",
        "lane_half_width": f"{world.track.half_width_m:g}",
        "light": f"{world.camera.lighting.day:.4f}",
        **Temper.draw(plan.seed).metadata(),
    }


def _fault_source(plan: DrivePlan, rate_hz: float) -> Any:
    return (lambda episode: plan.fault(episode, rate_hz)) if plan.protocol else None
