"""A campaign of trials: planned once, gone on with where it stopped, and told in three tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.files import csv_text, read_json, sha256_of, write_atomic, write_json
from donkey_aicc.nets.manifest import CALIBRATOR, MANIFEST
from donkey_aicc.progress import progress
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.trials.one_trial import FRAME_COLUMNS, Trial, run_trial
from donkey_aicc.workers import Workers, team_of

PLAN, PARTS, TRIALS, FRAMES, SUMMARY = "plan.json", "parts", "trials.csv", "frames.csv", "summary.md"
_DRAWS = 2000


@dataclass(frozen=True)
class Campaign:
    """n trials of every agent under every fault; the numbers 0 to n - 1 start alike everywhere."""

    agents: tuple[str, ...]
    faults: tuple[str, ...]  # '' is nominal
    n: int
    track: str = "loop"
    seed: int = 0
    frames: int = 600
    bundle: str | None = None
    grade: str = "full"
    governor: str = "off"

    def __post_init__(self) -> None:
        for name, value, least in (("--n", self.n, 1), ("--frames", self.frames, 1), ("--seed", self.seed, 0)):
            if value < least:
                raise ConfigError(f"{name} must be >= {least}, got {value}")
        if self.governor != "off" and self.bundle is None:
            raise ConfigError(f"--governor {self.governor} needs a monitor: give --bundle")
        make_track(self.track)
        for faults in self.faults:
            parse_schedule(faults or None)

    def trials(self) -> list[Trial]:
        shared = (self.track, self.seed, self.frames, self.bundle, self.grade, self.governor)
        return [Trial(agent, faults, i, *shared) for agent in self.agents for faults in self.faults for i in range(self.n)]


def run_campaign(campaign: Campaign, out: str | Path, workers: Workers = 1) -> Path:
    """Drive what is missing, then write the tables; returns where the summary is. A part appears when it is complete.

    workers: processes, or the address of a Dask cluster, which must find bundle and models at the same places.
    """
    out = Path(out)
    files = [Path(agent) for agent in campaign.agents] + [Path(campaign.bundle or "") / name for name in (MANIFEST, CALIBRATOR)]
    digests = {str(file): sha256_of(file) for file in files if file.is_file()}
    plan = json.loads(json.dumps({**asdict(campaign), "files": digests}))
    if (out / PLAN).exists() and (known := read_json(out / PLAN, "choose another folder")) != plan:
        other = ", ".join(name for name in plan if known.get(name) != plan[name])
        raise AiccError(f"{out} holds trials of another plan ({other} differ): choose another folder for --out")
    write_json(out / PLAN, plan)
    trials = campaign.trials()
    parts = [out / PARTS / f"{number:05d}.json" for number in range(len(trials))]
    missing = [(trial, part) for trial, part in zip(trials, parts, strict=True) if not part.exists()]
    with team_of(workers) as team:
        done = team.for_tasks(max(1, len(missing))).run(_drive, missing)
        for part, found in progress(done, "driving trials", total=len(missing), unit="trial"):
            write_json(part, found)
    return _tell(out, parts)


def _drive(trial: Trial, part: Path) -> tuple[Path, dict[str, Any]]:
    """In a worker, whose disk may be another one."""
    row, frames = run_trial(trial)
    return part, {"trial": row, "frames": frames}


def _tell(out: Path, parts: Sequence[Path]) -> Path:
    told = [read_json(part, f"delete it and run again: {part}") for part in parts]
    rows = [{"trial": number, **part["trial"]} for number, part in enumerate(told)]
    frames = ([number, *frame] for number, part in enumerate(told) for frame in part["frames"])
    write_atomic(out / TRIALS, csv_text(rows[0], *(row.values() for row in rows)))
    write_atomic(out / FRAMES, csv_text(["trial", *FRAME_COLUMNS], *frames))
    write_atomic(out / SUMMARY, summary(rows))
    return out / SUMMARY


_HEAD = ("agent", "faults", "trials", "laps", "left the lane", "danger said before", "by, s", "danger without leaving", "stopped")


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line per agent and fault: shares with Wilson intervals, means and medians with those of trials drawn anew (95 %)."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD))]
    for agent, faults in dict.fromkeys((row["agent"], row["faults"]) for row in rows):
        own = [row for row in rows if (row["agent"], row["faults"]) == (agent, faults)]
        left = [row for row in own if row["left_lane_s"] != ""]
        calm = [row for row in own if row["left_lane_s"] == ""]
        warned = [row for row in left if row["danger_s"] != "" and row["danger_s"] <= row["left_lane_s"]]
        cells = [agent, faults or "none", str(len(own)), _interval([row["laps"] for row in own], np.mean)]
        cells += [_share(len(left), len(own)), _share(len(warned), len(left))]
        cells.append(_interval([row["left_lane_s"] - row["danger_s"] for row in warned], np.median))
        cells.append(_share(sum(row["danger_s"] != "" for row in calm), len(calm)))
        cells.append(_share(sum(row["stopped_s"] != "" for row in own), len(own)))
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _share(hits: int, count: int) -> str:
    if not count:
        return "-"
    low, high = stats.binomtest(hits, count).proportion_ci(method="wilson")
    return f"{hits} of {count} ({low:.2f}-{high:.2f})"


def _interval(values: Sequence[float], middle: Any) -> str:
    if not values:
        return "-"
    known = np.array(values, dtype=float)
    draws = middle(np.random.default_rng(0).choice(known, (_DRAWS, len(known))), axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{middle(known):.2f} ({low:.2f}-{high:.2f})"
