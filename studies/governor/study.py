"""Plan, drive what is missing, and put the numbers together. Every drive is a file: an interrupted study goes on where it was."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.calibration.score_cache import score_once
from donkey_aicc.faults.protocols import PROTOCOLS
from donkey_aicc.files import write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.progress import progress
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import LIGHT, ScoreSettings
from donkey_aicc.tubs.load import load_drives
from donkey_aicc.workers import Workers, team_of
from studies.governor.governed_car import GovernedCar
from studies.governor.one_drive import Case, drive_seed
from studies.governor.own_faults import OWN_FAULTS, SEVERITY
from studies.governor.rivals import GOVERNORS, OFF, OURS, Rival, about, make_rivals

WARM_UP = 120  # nominal frames at least before a fault: the scorer's context is full


@dataclass(frozen=True)
class GovernorPreset:
    """How much is driven on a track. Nominal drives are as long as those of the alarm's promise: a lap with its start."""

    severities: tuple[int, ...]
    seeds: int  # of drives under faults
    nominal_drives: int
    governors: tuple[str, ...]
    frames: int = 160  # of each fault
    nominal_frames: int = 0  # 0: as long as the promise's drives
    faults: tuple[str, ...] = tuple(PROTOCOLS)


OWN = "own"
PRESETS = {
    "full": GovernorPreset((1, 2, 3, 4, 5), 10, 50, GOVERNORS),
    "small": GovernorPreset((3, 5), 2, 4, GOVERNORS),
    "pair": GovernorPreset((1, 2, 3, 4, 5), 10, 50, (OFF, OURS)),  # the full size, only with and without
    "severe": GovernorPreset((3, 4, 5), 4, 4, (OFF, OURS)),  # the headline, smaller
    OWN: GovernorPreset((SEVERITY,), 4, 4, (OFF, OURS), frames=120, faults=tuple(OWN_FAULTS)),  # five classes of faults
    "tiny": GovernorPreset((5,), 1, 1, (OFF, OURS), frames=10, nominal_frames=140),  # for tests
}


def cases_of(preset: GovernorPreset, track: str, seed: int, nominal_frames: int) -> tuple[Case, list[Case]]:
    """The nominal drive of a seed, and its faults: each begins at a moment, and so at a place, of its own."""
    nominal = Case(track, "", 0, seed, OFF)
    if seed >= preset.seeds:
        return nominal, []
    kinds = [(name, level) for name in preset.faults for level in preset.severities]
    begins = np.random.default_rng([seed, 17]).integers(WARM_UP, max(nominal_frames - 10, WARM_UP + 1), len(kinds))
    return nominal, [Case(track, *kind, seed, OFF, int(begin)) for kind, begin in zip(kinds, begins, strict=True)]


def run_track(
    bundle_path: Path,
    track: str,
    nominal: str,
    out: Path,
    preset: GovernorPreset,
    pilot: str | None,
    grade: str = LIGHT,
    workers: Workers = 1,
) -> list[dict[str, Any]]:
    """Every drive's file content of one track, with the bundle of that track."""
    bundle = Bundle.load(bundle_path)
    calibrator = load_calibrator(bundle, grade)
    rivals: Mapping[str, Rival] = {}
    if set(preset.governors) - {OFF, OURS}:
        rivals = make_rivals(calibrator, _nominal_table(bundle, calibrator.settings, nominal))
        write_json(out / f"thresholds-{track}.json", about(rivals))
    frames = preset.nominal_frames or (calibrator.alarm.piece.frames if calibrator.alarm is not None else 0)
    jobs = []
    for seed in range(max(preset.seeds, preset.nominal_drives)):
        cases = cases_of(preset, track, seed, frames)
        missing = [case for case in cases[1] if not _is_there(out, case, preset)]
        if missing or not _is_there(out, cases[0], preset):
            jobs.append((bundle_path, grade, (cases[0], missing), rivals, out, pilot, preset, frames))
    with team_of(workers) as team:
        for _ in progress(team.run(_drive, jobs), f"drives on {track}", total=len(jobs), unit="seed"):
            pass
    files = sorted((out / "drives").glob(f"{track.replace(':', '_')}-*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in files]


def _drive(
    bundle_path: Path,
    grade: str,
    cases: tuple[Case, list[Case]],
    rivals: Mapping[str, Rival],
    out: Path,
    pilot: str | None,
    preset: GovernorPreset,
    nominal_frames: int,
) -> int:
    """All drives of one seed. Returns the seed."""
    import cv2

    cv2.setNumThreads(0)  # its threads would not survive a fork
    bundle = Bundle.load(bundle_path)
    calibrator = load_calibrator(bundle, grade)
    seats = {name: rivals.get(name) for name in preset.governors if name != OFF}
    car = GovernedCar(bundle, calibrator, seats) if seats else None

    def store(drive: dict[str, Any]) -> None:
        write_json(_file(out, Case(**drive["case"])), drive)

    drive_seed(*cases, car, pilot, store, nominal_frames=nominal_frames, frames=preset.frames)
    return cases[0].seed


def _is_there(out: Path, case: Case, preset: GovernorPreset) -> bool:
    return all(_file(out, replace(case, governor=name)).exists() for name in preset.governors)


def _file(out: Path, case: Case) -> Path:
    return out / "drives" / f"{case.name}.json"


def _nominal_table(bundle: Bundle, settings: ScoreSettings, tubs: str) -> ScoreTable:
    """Where calibrate scored the same drives, its table is taken."""
    known = bundle.manifest
    found = load_drives([tubs], tau=known.tau, cte_centre=known.cte_centre, lane_half_width=known.lane_half_width)
    return score_once(bundle, found.drives, settings=settings, title="scoring nominal drives")
