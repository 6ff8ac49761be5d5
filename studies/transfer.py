"""The bundle of one finished experiment, judged on the drives of another: another track, or the same with other seeds.

Models, calibration and D_aug scores come from the first; nominal test and protocol drives from the second, labelled with the
first one's tau.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donkey_aicc.calibration.calibrating import calibration_drives
from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.load import load_drives
from studies.experiment_stages import FITTED_ON, score_file, settled, without_warm_up
from studies.layout import ABOUT, Layout, claim
from studies.study_presets import PRESETS, ExperimentPreset


@dataclass(frozen=True)
class Transfer:
    """Everything that decides the result."""

    bundle_of: Layout
    drives_of: Layout
    out: Layout
    workers: int = 2

    def about(self) -> dict[str, Any]:
        """The experiment the bundle comes from, and the track it is judged on."""
        trained, driven = read_about(self.bundle_of), read_about(self.drives_of)
        return trained | {"drives": {key: driven[key] for key in ("preset", "track", "seed")}}

    @property
    def preset(self) -> ExperimentPreset:
        """Of the bundle: the scores of all drives must be made like those of its calibration drives."""
        return PRESETS[read_about(self.bundle_of)["preset"]]


def read_about(layout: Layout) -> dict[str, Any]:
    path = layout.out / ABOUT
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AiccError(f"{layout.out} holds no experiment ({error}); make one with: python -m studies experiment") from error


def plan_transfer(bundle_of: str | Path, drives_of: str | Path, out: str | Path, workers: int = 2) -> Transfer:
    """Refuse unfinished experiments before anything long starts."""
    transfer = Transfer(Layout(Path(bundle_of)), Layout(Path(drives_of)), Layout(Path(out)), workers)
    needed = [transfer.bundle_of.bundle, transfer.bundle_of.restoration, *(transfer.bundle_of.scores(name) for name in FITTED_ON)]
    needed += [transfer.drives_of.bundle / "manifest.json", transfer.drives_of.nominal]
    needed += [transfer.drives_of.protocol(protocol) for protocol in transfer.preset.runs]
    for path in needed:
        if not path.exists():
            raise AiccError(f"{path} is missing: both experiments must be finished first")
    return transfer


def run_transfer(transfer: Transfer) -> dict[str, Any]:
    """Score, evaluate, write the report; scores that are there already are kept. Returns the results."""
    from studies.study_evaluation import evaluate_study
    from studies.study_report import NOT_MEASURED, write_study_report

    claim(transfer.out, transfer.about())
    write_atomic(transfer.out.restoration, transfer.bundle_of.restoration.read_bytes())
    bundle = Bundle.load(transfer.bundle_of.bundle)
    # Which nominal drives are test drives is written in the bundle that was trained on the others.
    nominal = calibration_drives(
        Bundle.load(transfer.drives_of.bundle), _load(transfer, bundle, transfer.drives_of.nominal), "test"
    )
    test = settled(
        score_file(transfer.out, bundle, "test", nominal.copy, transfer.preset, transfer.workers), transfer.preset.settled_frames
    )
    ood = {}
    for protocol in transfer.preset.runs:
        faulty = without_warm_up(_load(transfer, bundle, transfer.drives_of.protocol(protocol)), bundle)
        ood[protocol] = score_file(transfer.out, bundle, f"ood_{protocol}", faulty.copy, transfer.preset, transfer.workers)
    calibration, augmented, driven = (ScoreTable.load(transfer.bundle_of.scores(name)) for name in FITTED_ON)
    about = transfer.about()
    results = evaluate_study(
        settled(calibration, transfer.preset.settled_frames),
        augmented,
        test,
        ood,
        driven=driven,
        seeds=transfer.preset.split_seeds,
        seed=about["model_seed"],
        about=about,
    )
    results["runtime"] = NOT_MEASURED
    write_study_report(results, transfer.out.report)
    return results


def _load(transfer: Transfer, bundle: Bundle, folder: Path) -> list[Drive]:
    manifest = bundle.manifest
    return load_drives([folder], tau=manifest.tau, cte_centre=manifest.cte_centre, cache_dir=transfer.out.cache).drives
