"""One trial: an agent from a random place, perhaps a fault, perhaps the monitor; a row per frame, and one about the whole."""

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc import channels
from donkey_aicc.car.monitor_loop import MonitorLoop
from donkey_aicc.nets.latent_pilot import LatentPilot
from donkey_aicc.parts.ride import Ride
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.drivers import VisionDriver, nominal_driver
from donkey_aicc.simulator.driving import Driver, Marshal
from donkey_aicc.simulator.record_drives import MAX_START_OFFSET_M
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.world import NO_HIT, World

RATE_HZ = 20.0
EXPERT, PILOT = "expert", "pilot"
_SEEN = ("x", "y", "yaw", "speed", "cte_m", "s_m")
_SAID = {"alarm": channels.ALARM, "action": channels.ACTION, "confidence_min": channels.CONFIDENCE_MIN}
_SAID |= {"rho": channels.RHO, "delta": channels.DELTA, "hazard": channels.HAZARD}
FRAME_COLUMNS = ("tick", *_SEEN, "lap", "hit", "steering", "throttle", "fault", *_SAID)


@dataclass(frozen=True)
class Trial:
    """Everything that decides it. The same number starts at the same place in the same light, whoever drives."""

    agent: str  # expert, pilot, or a model
    faults: str  # '' is nominal
    number: int
    track: str
    seed: int
    frames: int
    bundle: str | None = None  # of the monitor; None: nobody watches
    grade: str = "full"
    governor: str = "off"


def run_trial(trial: Trial) -> tuple[dict[str, Any], list[list[Any]]]:
    """The row about the trial, and its frames in the order of FRAME_COLUMNS. It ends when the car has left the track for good."""
    seed = int(np.random.SeedSequence([trial.seed, trial.number]).generate_state(1)[0])
    ride = Ride(World(trial.track, rate_hz=RATE_HZ))
    track, rng = ride.world.track, np.random.default_rng([seed, 12])
    pose = track.pose_at(float(rng.uniform(0.0, track.length_m)), float(rng.uniform(-1.0, 1.0)) * MAX_START_OFFSET_M)
    ride.begin(trial.faults or None, pose=pose, seed=seed, fault_seed=seed)
    driver = _driver(trial.agent, track, seed)
    said: dict[str, Any] = {}
    if trial.bundle is not None:
        monitor = _monitor(trial.bundle, trial.grade, trial.governor)
        monitor.reset()

        def last_word(image: np.ndarray, command: tuple[float, float]) -> tuple[float, float]:
            said.update(monitor.run(image, *command, speed=ride.observation.speed))
            return command[0], said[channels.THROTTLE]

        ride.last_word = last_word
    rows = []
    for tick in range(trial.frames):
        seen = ride.observation
        ride.step(*driver.run(ride.image, seen))
        values = [*(getattr(seen, name) for name in _SEEN), seen.lap, seen.hit, *ride.sent, ride.fault]
        rows.append([_plain(value) for value in (tick, *values, *(said.get(channel) for channel in _SAID.values()))])
        if seen.hit != NO_HIT or abs(seen.cte_m) > Marshal.departed_m:
            break
    return _whole(trial, seed, rows, track.half_width_m, ride), rows


def _driver(agent: str, track: Track, seed: int) -> Driver:
    """Expert and pilots with the temper of the drive's seed, as in recorded drives; a learnt agent as it is."""
    if agent.endswith(".zip"):
        learnt = LatentPilot()
        learnt.load(agent)
        return VisionDriver(learnt)
    return nominal_driver(track, None if agent == EXPERT else models_dir() / PILOT if agent == PILOT else agent, seed)


@lru_cache(maxsize=1)
def _monitor(bundle: str, grade: str, governor: str) -> MonitorLoop:
    return MonitorLoop(bundle, governor=governor, grade=grade, rate_hz=RATE_HZ)


def _plain(value: Any) -> Any:
    """As it stands in a table: a hazard by its largest, numbers to six digits."""
    if isinstance(value, list | tuple | np.ndarray):
        value = max(map(float, value), default=None)
    if value is None or isinstance(value, str | bool | int):
        return "" if value is None else value
    return round(float(value), 6) if math.isfinite(float(value)) else ""


def _whole(trial: Trial, seed: int, rows: list[list[Any]], half_width_m: float, ride: Ride) -> dict[str, Any]:
    columns = dict(zip(FRAME_COLUMNS, zip(*rows, strict=True), strict=True))
    times = ride.observation.lap_times
    return {
        "agent": Path(trial.agent).name,
        "faults": trial.faults,
        "number": trial.number,
        "seed": seed,
        "frames": len(rows),
        "laps": columns["lap"][-1],
        "best_lap_s": round(min(times), 6) if times else "",
        "distance_m": round(sum(map(abs, columns["speed"])) / RATE_HZ, 3),
        "mean_abs_cte_m": round(float(np.mean(np.abs(columns["cte_m"]))), 6),
        "fault_s": _first(columns["fault"], lambda value: value != ""),
        "left_lane_s": _first(columns["cte_m"], lambda value: abs(value) > half_width_m),
        "hit_s": _first(columns["hit"], lambda value: value != NO_HIT),
        "watch_s": _first(columns["alarm"], lambda value: value in ("watch", "danger")),
        "danger_s": _first(columns["alarm"], lambda value: value == "danger"),
        "stopped_s": _first(columns["action"], lambda value: value == "stopped"),
    }


def _first(values: tuple[Any, ...], wanted: Any) -> float | str:
    """Seconds until it first happens; empty if it does not."""
    return next((round(row / RATE_HZ, 6) for row, value in enumerate(values) if wanted(value)), "")
