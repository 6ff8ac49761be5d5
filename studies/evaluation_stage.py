"""The last stage: everything scored, judged and written as a report."""

from typing import Any

import numpy as np

from donkey_aicc import channels
from donkey_aicc.calibration.calibrating import calibration_drives
from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.calibration.pool import of_sources
from donkey_aicc.evaluation.methods_and_conditions import Condition, evaluated_conditions
from donkey_aicc.files import sha256_of
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import GRADES
from donkey_aicc.simulator.driving import Marshal
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.tubs.tub_contents import numbers
from donkey_aicc.tubs.tub_reader import read_v2_tub
from studies.early_warning import Driving
from studies.experiment_stages import RATE_HZ, Experiment, load, settled
from studies.grade_rows import grade_rows
from studies.imagined_rows import IMAGINED, ImaginedTable, compare_imagined, said_of_imagined
from studies.other_nets import read_other_nets
from studies.predictor_rows import predictor_rows, without_pictures
from studies.study_evaluation import evaluate_study
from studies.study_report import NOT_MEASURED, write_study_report


def evaluate_and_report(experiment: Experiment) -> None:
    """results.json holds no wall-clock time, so that the same seed gives the same bytes; timings stand in a file beside it."""
    layout, preset = experiment.layout, experiment.preset
    bundle = Bundle.load(layout.bundle)
    ood = {protocol: ScoreTable.load(layout.scores(f"ood_{protocol}")) for protocol in preset.runs}
    calibration, test = (settled(ScoreTable.load(layout.scores(name)), preset.settled_frames) for name in ("calibration", "test"))
    augmented, driven = (ScoreTable.load(layout.scores(name)) for name in ("augmented", "driven"))
    augmented = of_sources(augmented, calibration.sequences())  # none of a drive that ended before it was settled
    results = evaluate_study(
        calibration,
        augmented,
        test,
        ood,
        driven=driven,
        seeds=preset.split_seeds,
        seed=experiment.model_seed,
        driving=Driving(Marshal().departed_m, RATE_HZ, _frames_per_lap(experiment)),
        calibrator=load_calibrator(bundle),
        about=experiment.about() | {"frozen": sha256_of(layout.frozen)},
    )
    if experiment.extras:
        add_imagined(results, ImaginedTable.load(layout.scores(IMAGINED)), evaluated_conditions(test, ood))
    rows = {"calibration": calibration, "test": test, **ood}
    late = {name: ScoreTable.load(layout.scores(name)).step >= preset.settled_frames for name in ("calibration", "test")}
    others = _without_pictures(experiment, bundle, rows) | read_other_nets(experiment, late | dict.fromkeys(ood, slice(None)))
    results["predictors"] = predictor_rows(rows, others, experiment.model_seed)
    results["grades"] = grade_rows(
        calibration, augmented, test, ood, experiment.model_seed, {grade: load_calibrator(bundle, grade) for grade in GRADES}
    )
    results["runtime"] = _runtime(experiment, bundle, calibration, augmented) if experiment.extras else NOT_MEASURED
    write_study_report(results, layout.report)


def add_imagined(results: dict[str, Any], imagined: ImaginedTable, conditions: list[Condition]) -> None:
    results[IMAGINED] = compare_imagined(imagined, conditions)
    said = said_of_imagined(results[IMAGINED])
    if said is not None:
        results["summary"].insert(1, said)  # after what the direct predictor does


def _runtime(experiment: Experiment, bundle: Bundle, calibration: ScoreTable, augmented: ScoreTable) -> dict[str, Any]:
    from benchmarks.runtime import measure_runtime, timed_calibrators

    return measure_runtime(bundle, timed_calibrators(calibration, augmented), experiment.preset.scoring)


def _without_pictures(experiment: Experiment, bundle: Bundle, tables: dict[str, ScoreTable]) -> dict[str, Any]:
    layout = experiment.layout
    train = calibration_drives(bundle, load(experiment, bundle, layout.nominal), "train")
    folders = dict.fromkeys(("train", "calibration", "test"), layout.nominal)
    folders |= {protocol: layout.protocol(protocol) for protocol in experiment.preset.runs}
    return without_pictures(bundle, train, tables, folders, make_track(experiment.track))


def _frames_per_lap(experiment: Experiment) -> float:
    """From the mean speed of the nominal drives."""
    tubs = sorted(experiment.layout.nominal.iterdir())
    speeds = np.concatenate([numbers(read_v2_tub(tub).records, channels.SPEED) for tub in tubs])
    return make_track(experiment.track).length_m / float(np.nanmean(speeds)) * RATE_HZ
