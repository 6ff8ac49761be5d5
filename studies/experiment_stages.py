"""The stages of the experiment. Each looks first whether its result is there already."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donkey_aicc.calibration.augmented_drives import Augmented, build_augmented
from donkey_aicc.calibration.calibrating import calibrate_bundle, calibration_drives
from donkey_aicc.calibration.catalogue import DEFAULT_METHOD
from donkey_aicc.faults.d_aug import FamilyLadder
from donkey_aicc.files import read_json, write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.simulator.driving import Marshal
from donkey_aicc.training.pipeline import Plan, train_bundle
from donkey_aicc.training.presets import preset_named
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.load import load_drives
from donkey_aicc.tubs.splits import Split
from donkey_aicc.workers import Workers
from studies.imagined_predictor import imagine_drives
from studies.imagined_rows import IMAGINED
from studies.layout import Layout
from studies.nominal_picture import measured, stored
from studies.study_presets import ExperimentPreset

RATE_HZ = 20.0  # of the simulated drives
FITTED_ON = ("calibration", "augmented", "driven")  # score tables


@dataclass(frozen=True)
class Experiment:
    """Everything that decides the result."""

    layout: Layout
    preset: ExperimentPreset
    track: str
    seed: int
    model_seed: int  # of split, training and calibration; the drives keep theirs
    pilot: Path
    overrides: tuple[str, ...] = ()  # of the training preset
    workers: Workers = 2
    start: Path | None = None  # bundle whose world model is trained further
    extras: bool = False  # the imagined predictor, timings, closed against open loop

    def about(self) -> dict[str, Any]:
        """What must be equal for two runs to be the same experiment."""
        return {
            "preset": self.preset.name,
            "track": self.track,
            "seed": self.seed,
            "model_seed": self.model_seed,
            "overrides": list(self.overrides),
            "extras": self.extras,
            "started_from": None if self.start is None else self.start.name,
        }

    def command(self) -> str:
        """What makes this experiment again."""
        words = ["python", "-m", "studies", "experiment", "--out", "exp", "--preset", self.preset.name, "--track", self.track]
        words += ["--seed", str(self.seed), "--model-seed", str(self.model_seed)]
        words += [] if self.start is None else ["--start", str(self.start)]
        words += ["--extras"] if self.extras else []
        return shlex.join(words + [word for override in self.overrides for word in ("--set", override)])


def train(experiment: Experiment) -> None:
    layout = experiment.layout
    if (layout.bundle / "manifest.json").exists():
        return
    loaded = load_drives([layout.nominal], cache_dir=layout.cache)
    size = experiment.preset
    further = size.further if experiment.start is not None else ()
    preset, overrides = preset_named(size.training_preset, (*size.training, *further, *experiment.overrides))
    train_bundle(
        loaded.drives,
        split=split_by_side(loaded.drives),
        plan=Plan(
            preset=preset,
            out=layout.bundle,
            overrides=overrides,
            seed=experiment.model_seed,
            device="auto",
            resume=True,
            start=experiment.start,
            tau=loaded.tau,
            lane_half_width=loaded.lane_half_width,
            data={"label_source": "cte", "experiment": experiment.about(), "command": experiment.command()},
        ),
    )


def split_by_side(drives: list[Drive]) -> Split:
    """By the names of the tubs: each was driven for its side."""
    ordered = sorted(drives, key=lambda drive: drive.id)
    train, calibration, test = ([one for one in ordered if one.tub.startswith(side)] for side in ("train", "calibration", "test"))
    return Split(train, calibration, test)


def score_for_fit(experiment: Experiment) -> None:
    """Everything a calibrator is fitted on, each in a file: calibration drives, D_aug as made and as driven."""
    layout, preset = experiment.layout, experiment.preset
    if all(layout.scores(name).exists() for name in FITTED_ON):
        return
    bundle = Bundle.load(layout.bundle)
    calibration = calibration_drives(bundle, load(experiment, bundle, layout.nominal))
    settings = measured(layout.restoration, bundle, calibration, preset.scoring)
    _score_to(experiment, bundle, "calibration", lambda: calibration)
    if not layout.scores("augmented").exists():
        augmented = build_augmented(
            bundle,
            calibration,
            settings,
            experiment.model_seed,
            experiment.workers,
            preset.augmented_rows,
            preset.ladder_frames,
            preset.augmented_severities,
        )
        write_json(layout.ladders, {family: ladder.to_json() for family, ladder in augmented.ladders.items()})
        augmented.table.save(layout.scores("augmented"))
    _score_to(experiment, bundle, "driven", lambda: without_warm_up(load(experiment, bundle, layout.driven), bundle))


def score_for_test(experiment: Experiment) -> None:
    """Nominal test drives and every protocol, each in a file; then the second predictor kind."""
    layout = experiment.layout
    names = ["test", *(f"ood_{protocol}" for protocol in experiment.preset.runs), *([IMAGINED] if experiment.extras else [])]
    if all(layout.scores(name).exists() for name in names):
        return
    bundle = Bundle.load(layout.bundle)
    test = calibration_drives(bundle, load(experiment, bundle, layout.nominal), "test")
    _score_to(experiment, bundle, "test", lambda: test)
    drives = list(test)
    for protocol in experiment.preset.runs:
        faulty = without_warm_up(load(experiment, bundle, layout.protocol(protocol)), bundle)
        _score_to(experiment, bundle, f"ood_{protocol}", faulty.copy)
        drives += faulty
    if experiment.extras and not layout.scores(IMAGINED).exists():
        imagine_drives(bundle, drives, experiment.preset.scoring).save(layout.scores(IMAGINED))


def _score_to(experiment: Experiment, bundle: Bundle, name: str, sequences: Callable[[], list[Drive]]) -> None:
    score_file(experiment.layout, bundle, name, sequences, experiment.preset, experiment.workers)


def score_file(
    layout: Layout,
    bundle: Bundle,
    name: str,
    drives: Callable[[], list[Drive]],
    preset: ExperimentPreset,
    workers: Workers,
) -> ScoreTable:
    """The scores of the drives, from their file where it is there already."""
    path = layout.scores(name)
    if not path.exists():
        table = score_drives(
            bundle,
            drives(),
            settings=stored(layout.restoration, preset.scoring),
            batch=preset.batch,
            workers=workers,
            title=f"scoring {name}",
        )
        table.save(path)
    return ScoreTable.load(path)


def without_warm_up(drives: list[Drive], bundle: Bundle) -> list[Drive]:
    """Without the part of the warm-up that no frame under the fault has in its context: it would be scored for nothing."""
    unused = Marshal().warm_up_frames - bundle.manifest.context
    return [drive.part(unused, len(drive)) for drive in drives if len(drive) > unused + bundle.manifest.context]


def load(experiment: Experiment, bundle: Bundle, folder: Path) -> list[Drive]:
    manifest = bundle.manifest
    loaded = load_drives([folder], tau=manifest.tau, cte_centre=manifest.cte_centre, cache_dir=experiment.layout.cache)
    return loaded.drives


def calibrate(experiment: Experiment) -> None:
    layout = experiment.layout
    bundle = Bundle.load(layout.bundle)
    if bundle.calibrator_path.exists():
        return
    result = calibrate_bundle(
        bundle,
        *tables_to_fit(layout),
        stored(layout.restoration, experiment.preset.scoring),
        DEFAULT_METHOD,
        experiment.model_seed,
    )
    for warning in result.about["warnings"]:
        print(f"   note: {warning}")


def tables_to_fit(layout: Layout) -> tuple[ScoreTable, Augmented]:
    """What `score_for_fit` has left: calibration drives, and D_aug as made and as driven."""
    stored_ladders = read_json(layout.ladders, f"remove {layout.ladders.parent} and run again")
    ladders = {family: FamilyLadder.from_json(stored) for family, stored in stored_ladders.items()}
    nominal, augmented, driven = (ScoreTable.load(layout.scores(name)) for name in FITTED_ON)
    return nominal, Augmented(augmented, ladders, driven)


def settled(nominal: ScoreTable, frames: int) -> ScoreTable:
    """Without the frames soon after a start: those of the protocols come after as many nominal ones, and must be like them."""
    return nominal.select(nominal.step >= frames)
