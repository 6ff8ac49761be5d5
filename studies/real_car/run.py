"""All stages of the real-car study in order; running it again goes on where it stopped."""

import shutil
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from donkey_aicc.calibration.calibrating import usable_folds
from donkey_aicc.calibration.pool import Pool, build_pool
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.tables import rounded
from donkey_aicc.files import read_json, write_json
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring.nominal_distance import too_few_drives
from donkey_aicc.scoring.score_table import ScoreTable
from studies.layout import claim
from studies.predictor_kinds import RESULT
from studies.real_car import stages
from studies.real_car.goals import judge
from studies.real_car.natural_shift import as_protocol, at_maximum, by_severity, describe_shift, told_apart, usable
from studies.real_car.plan import RealCar, Shift

PICTURES = ("reconstruction.png", "rollout.png", "curves.png")
Results = dict[str, Any]


def run_real_car(study: RealCar) -> Results:
    """Returns what results.json holds."""
    steps: tuple[tuple[str, Callable[[RealCar], Any]], ...] = (
        ("further tubs", stages.check_shifts),
        ("training", stages.train),
        ("predictor kinds", stages.compare_kinds),
        ("scores", stages.score),
        ("calibrator", stages.calibrate),
        ("evaluation", evaluate_study),
    )
    claim(study.layout, study.about())
    results: Results = {}
    for number, (name, stage) in enumerate(steps, start=1):
        print(f"[{number}/{len(steps)}] {name}", flush=True)
        started, used = time.monotonic(), time.process_time()
        results = stage(study)
        print(f"      {time.monotonic() - started:.0f} s, {time.process_time() - used:.0f} s of them at work", flush=True)
    return results


def evaluate_study(study: RealCar) -> Results:
    """Everything measured, in report/real_car.json beside the pages of the usual evaluation."""
    from donkey_aicc.evaluation.report import write_report
    from donkey_aicc.evaluation.study import evaluate

    layout, size = study.layout, study.size
    calibration, augmented, test = (ScoreTable.load(layout.scores(name)) for name in ("calibration", "augmented", "test"))
    faults = {protocol: ScoreTable.load(layout.scores(f"ood_{protocol}")) for protocol in size.severities}
    judged = partial(evaluate, calibration, augmented, test, seeds=size.split_seeds, seed=study.seed)
    evaluation = judged(faults, about=study.about(), notes=[_open_loop()])
    write_report(evaluation, layout.report)
    pool = build_pool(calibration, augmented, folds=usable_folds(calibration), seed=study.seed)
    bundle = Bundle.load(layout.bundle)
    manifest = bundle.manifest
    drives = len(usable(calibration).sequences())
    results: Results = {
        "about": study.about(),
        "scoring": size.scoring.to_json(),
        "training": {"metrics": manifest.metrics, "gate": manifest.gate, "data": manifest.data, "settings": manifest.settings},
        "predictors": read_json(layout.out / "kinds" / RESULT, "run again"),
        "calibration_drives": {"count": drives, "note": too_few_drives(drives)},
        "nominal": {
            "at_maximum": at_maximum(test, pool.statistics),
            "rate_hz": rounded(stages.rate_of(stages.load_nominal(study).drives)),
        },
        "faults": {name: told_apart(test, table, pool.statistics, study.seed) for name, table in faults.items()},
        "by_severity": {name: by_severity(test, table, pool.statistics) for name, table in faults.items()},
        "shifts": {shift.name: _shifted(study, bundle, shift, test, pool, judged) for shift in study.shifts},
        "evaluation": _parts(evaluation),
    }
    results["goals"] = judge(results)
    write_json(layout.report / "real_car.json", results)
    for name in PICTURES:
        picture = layout.bundle.with_name(layout.bundle.name + ".training") / name
        if picture.exists():
            shutil.copyfile(picture, layout.report / name)
    return results


def _shifted(
    study: RealCar, bundle: Bundle, shift: Shift, test: ScoreTable, pool: Pool, judged: Callable[..., Results]
) -> Results:
    try:
        drives = stages.shift_drives(study, shift)
        table = stages.shift_table(study, bundle, shift, drives)
        found = describe_shift(test, table, pool, study.seed) | {"rate_hz": rounded(stages.rate_of(drives))}
        own = as_protocol(shift.name, table)
        return found | {"evaluation": _parts(judged(own)) if own else None}
    except AiccError as error:
        return {"reason": str(error)}


def _parts(evaluation: Results) -> Results:
    return {name: evaluation[name] for name in ("calibration", "intervals", "base_predictor", "data", "notes")}


def _open_loop() -> str:
    return (
        "Dark and Blur act on recorded camera files, Bias and Latency on recorded commands, all in open loop: the car did not "
        "feel them, so its path and its labels are those of the nominal drive. ECE under Bias and Latency says what a wrong "
        "alarm costs, not how well a drifting car is judged."
    )
