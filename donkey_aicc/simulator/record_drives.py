"""Records whole sets of simulated drives as tubs: the data that training, calibration and evaluation start from.

They are normal donkeycar tubs, stamped with simulated time.
"""

import contextlib
import io
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.faults.fault import Fault, make_fault
from donkey_aicc.files import remove_leftovers
from donkey_aicc.progress import progress
from donkey_aicc.simulator.drivers import Temper, nominal_driver
from donkey_aicc.simulator.driving import Marshal, Tick, drive
from donkey_aicc.simulator.world import World
from donkey_aicc.workers import Workers, team_of

# `pilot/*` holds what the driver wanted, `steering`/`throttle` what reached the car: they differ under a fault.
KEYS = {
    channels.IMAGE: "image_array",
    "user/angle": "float",
    "user/throttle": "float",
    channels.MODE: "str",
    channels.STEERING: "float",
    channels.THROTTLE: "float",
    "pilot/angle": "float",
    "pilot/throttle": "float",
    **dict.fromkeys(channels.LOCATION, "float"),
    channels.INJECT_PROTOCOL: "str",
    channels.INJECT_SEVERITY: "int",
    channels.INJECT_EPISODE: "int",
}


class TubRecording:
    """`with TubRecording(path) as tub: tub.write(tick)`. A new segment starts a new tub session."""

    def __init__(self, path: str | Path, keys: dict[str, str] | None = None, metadata: dict[str, str] | None = None) -> None:
        self.path = Path(path)
        self._keys = KEYS if keys is None else keys
        self._metadata = [f"{key}:{value}" for key, value in (metadata or {}).items()]
        self._segment = 0
        self._open(0)

    def _open(self, segment: int) -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # importing donkeycar prints its banner, once per worker process
            from donkeycar.parts.tub_v2 import Tub

        logging.getLogger("donkeycar.parts.datastore_v2").setLevel(logging.WARNING)
        logging.getLogger("donkeycar.parts.tub_v2").setLevel(logging.WARNING)
        self._tub = Tub(str(self.path), list(self._keys), list(self._keys.values()), self._metadata)
        # donkeycar puts today's date into session ids; the same seed should give the same tub on any day.
        self._tub.manifest.session_id = (segment, f"sim_{segment}")
        self._segment = segment

    def write(self, tick: Tick) -> None:
        """One record with everything in KEYS."""
        here = tick.observation
        self.write_values(
            tick,
            {
                "user/angle": 0.0,
                "user/throttle": 0.0,
                channels.MODE: tick.mode,
                channels.STEERING: tick.sent[0],
                channels.THROTTLE: tick.sent[1],
                "pilot/angle": tick.intended[0],
                "pilot/throttle": tick.intended[1],
                channels.POS_X: here.x,
                channels.POS_Y: 0.0,
                channels.POS_Z: here.y,
                channels.SPEED: here.speed,
                channels.CTE: here.cte_m,
                channels.INJECT_PROTOCOL: tick.fault.protocol if tick.fault else "",
                channels.INJECT_SEVERITY: tick.fault.severity if tick.fault else 0,
                channels.INJECT_EPISODE: tick.episode,
            },
        )

    def write_values(self, tick: Tick, values: dict[str, float | int | str]) -> None:
        """A record of the tick's picture and these values, whose keys the recording was opened with."""
        if tick.segment != self._segment:
            self._tub.close()
            self._open(tick.segment)
        manifest = self._tub.manifest
        index = manifest.current_index
        name = f"{index}_cam_image_array_.jpg"
        # With Pillow's own quality (75, half the colour resolution), as donkeycar's tub writes them.
        Image.fromarray(np.ascontiguousarray(tick.image)).save(Path(self._tub.images_base_path) / name)
        record: dict[str, float | int | str] = {key: _plain(value) for key, value in values.items()}
        record[channels.IMAGE] = name
        record["_timestamp_ms"] = int(round(1000 * tick.observation.time_s))
        record["_index"] = index
        record["_session_id"] = manifest.session_id[1]
        manifest.write_record(record)

    def close(self) -> None:
        self._tub.close()

    def __enter__(self) -> "TubRecording":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plain(value: float | int | str) -> float | int | str:
    """Numbers to the micrometre: further digits differ between processors, and the same seed must give the same tub."""
    return value if isinstance(value, str | int) else round(float(value), 6)


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


def record(plans: Sequence[DrivePlan], model: str | Path | None, workers: Workers = 1) -> int:
    """Record what is not there yet, with the pilot in `model` (None: the expert). Returns the number of new tubs.

    Each tub appears under its name only when it is complete, so that an interrupted recording goes on where it was.
    """
    missing = [replace(plan, path=plan.path.absolute()) for plan in plans if not plan.path.exists()]
    pilot = None if model is None else Path(model).absolute()  # a worker stands in another folder
    with team_of(workers) as team:
        jobs = team.for_tasks(len(missing)).run(record_one, ((plan, pilot) for plan in missing))
        for path in progress(jobs, "recording drives", total=len(missing), unit="drive"):
            if not path.exists():
                raise AiccError(f"the workers wrote {path} where this computer does not see it; --out must be a shared folder")
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
