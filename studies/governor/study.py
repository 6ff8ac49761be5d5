"""Plan, drive what is missing, and put the numbers together. Every drive is a file: an interrupted study goes on where it was."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.faults.protocols import PROTOCOLS
from donkey_aicc.files import write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.progress import progress
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.simulator.tracks import TRACK_NAMES
from donkey_aicc.tubs.load import load_drives
from studies.governor.governed_car import GovernedCar
from studies.governor.one_drive import Case, drive_case, stored
from studies.governor.rivals import GOVERNORS, OFF, OURS, Rival, about, make_rivals


@dataclass(frozen=True)
class GovernorPreset:
    """How much is driven; frames: of every drive under a fault, after `warm_up` nominal ones."""

    tracks: tuple[str, ...]
    severities: tuple[int, ...]
    seeds: int
    governors: tuple[str, ...]
    nominal_drives: int  # per track
    nominal_frames: int
    frames: int = 200
    warm_up: int = 140


PRESETS = {
    "full": GovernorPreset(TRACK_NAMES, (1, 2, 3, 4, 5), 10, GOVERNORS, 25, 1000),  # 200 nominal laps and more
    "small": GovernorPreset(("loop",), (3, 5), 2, GOVERNORS, 4, 600),
    "pair": GovernorPreset(("loop",), (3, 4, 5), 2, (OFF, OURS), 4, 600),  # only with and without
    "tiny": GovernorPreset(("loop",), (5,), 1, (OFF, OURS), 1, 20, frames=10, warm_up=10),  # for tests
}


def cases_of(preset: GovernorPreset, tracks: Sequence[str] = ()) -> list[Case]:
    """In an order in which a study that is cut short has something of everything."""
    found = []
    for track in tracks or preset.tracks:
        for seed in range(max(preset.seeds, preset.nominal_drives)):
            for governor in preset.governors:
                if seed < preset.nominal_drives:
                    found.append(Case(track, "", 0, seed, governor))
                if seed < preset.seeds:
                    found += [Case(track, name, level, seed, governor) for name in PROTOCOLS for level in preset.severities]
    return sorted(found, key=lambda case: (case.seed, case.track))


def run_study(
    bundle_path: Path,
    nominal: Sequence[str],
    out: Path,
    preset: GovernorPreset,
    pilot: str,
    workers: int = 1,
    tracks: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Every drive's file content, in the order of the plan."""
    bundle = Bundle.load(bundle_path)
    rivals = make_rivals(load_calibrator(bundle), _nominal_table(bundle, nominal, out))
    write_json(out / "thresholds.json", about(rivals))
    cases = cases_of(preset, tracks)
    missing = [case for case in cases if not _file(out, case).exists()]
    jobs: Iterable[Any] = (drive_one(bundle_path, case, rivals.get(case.governor), out, pilot, preset) for case in missing)
    if workers > 1 and len(missing) > 1:
        from joblib import Parallel, delayed

        calls = (delayed(drive_one)(bundle_path, case, rivals.get(case.governor), out, pilot, preset) for case in missing)
        jobs = Parallel(n_jobs=workers, return_as="generator_unordered")(calls)
    for _ in progress(jobs, "drives", total=len(missing), unit="drive"):
        pass
    return [json.loads(_file(out, case).read_text(encoding="utf-8")) for case in cases]


def drive_one(bundle_path: Path, case: Case, rival: Rival | None, out: Path, pilot: str, preset: GovernorPreset) -> Path:
    """Drive one case and keep it; returns where."""
    car = None
    if case.governor != OFF:
        bundle = Bundle.load(bundle_path)
        car = GovernedCar(bundle, load_calibrator(bundle), "stop", rival)
    frames = preset.frames if case.protocol else preset.nominal_frames
    outcome, path = drive_case(case, car, pilot, warm_up=preset.warm_up, frames=frames)
    write_json(_file(out, case), stored(case, outcome, path))
    return _file(out, case)


def _file(out: Path, case: Case) -> Path:
    return out / "drives" / f"{case.name}.json"


def _nominal_table(bundle: Bundle, tubs: Sequence[str], out: Path) -> ScoreTable:
    path = out / "nominal.npz"
    if not path.exists():
        manifest = bundle.manifest
        drives = load_drives(tubs, tau=manifest.tau, cte_centre=manifest.cte_centre, cache_dir=out / "cache").sequences
        out.mkdir(parents=True, exist_ok=True)
        score_drives(bundle, drives, settings=load_calibrator(bundle).settings, title="scoring nominal drives").save(path)
    return ScoreTable.load(path)
