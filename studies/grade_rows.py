"""The paper's method at every grade of scoring: what the cheaper ones give away. All from one scoring pass at grade full."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.calibrating import fit_calibrator
from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.alarm_metrics import measure_alarm
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition, evaluated_conditions
from donkey_aicc.evaluation.score_quality import ood_auroc
from donkey_aicc.evaluation.tables import HIGHER, LOWER, Column, Row, Table, Value, cell
from donkey_aicc.files import read_json
from donkey_aicc.scoring.lower_grades import grades_of, table_at
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import FULL
from studies.judged_rows import TITLES, judge

COMPARED_SCORES = ("log_rho", "rho", "delta", "rho_delta")


def grade_rows(
    calibration: ScoreTable,
    augmented: ScoreTable,
    test: ScoreTable,
    ood: Mapping[str, ScoreTable],
    seed: int,
    calibrators: Mapping[str, Calibrator],
) -> dict[str, Any]:
    """Grade -> OOD AUROC per protocol, ECE, NLL and Brier with intervals, and the alarm of the bundle's own calibrator."""
    grades = grades_of(calibration)
    confidence, detection, alarms = {}, {}, {}
    # Grade half knows its first rollout later than grade full: only frames that every grade has scores of count.
    whole = evaluated_conditions(_known(test, grades), {name: _known(table, grades) for name, table in ood.items()})
    everything = {NOMINAL: test} | dict(ood)
    for grade in grades:
        conditions = [Condition(one.name, table_at(one.table, grade)) for one in whole]
        calibrator, pool = fit_calibrator(table_at(calibration, grade), table_at(augmented, grade), OURS, seed)
        confidence[grade] = {one.name: calibrator.predict(one.table, pool.statistics.scores(one.table)) for one in conditions}
        areas = {one.name: ood_auroc(conditions[0].table, one.table, pool.statistics) for one in conditions[1:]}
        detection[grade] = {name: {score: cell(found[score]) for score in COMPARED_SCORES} for name, found in areas.items()}
        alarms[grade] = measure_alarm(
            calibrators.get(grade), {name: table_at(table, grade) for name, table in everything.items()}
        )
    found = judge(confidence, whole, FULL, seed)
    return {grade: found[grade] | {"ood_auroc": detection[grade], "alarm": alarms[grade]} for grade in grades}


def _known(table: ScoreTable, grades: tuple[str, ...]) -> ScoreTable:
    return table.select(np.all([table_at(table, grade).valid.astype(bool) for grade in grades], axis=0))


def read_times(folder: Path) -> dict[str, Any] | None:
    """What `python -m benchmarks.bench_grades --json` has left, if it was run."""
    path = folder / "grade_times.json"
    return read_json(path, "make it with: python -m benchmarks.bench_grades --json FILE") if path.exists() else None


def grade_table(rows: Mapping[str, Any], title: str = "Grades of scoring", times: Mapping[str, Any] | None = None) -> Table:
    """One row per grade; times: milliseconds of each, where they were measured."""
    protocols = list(next(iter(rows.values()))["ood_auroc"])
    columns = [Column(f"auroc_{name}", f"AUROC {name}", better=HIGHER) for name in protocols]
    columns += [Column(f"ood_{m}", f"{label} under faults", better=LOWER) for m, label in TITLES.items()]
    columns += [Column("interval", "ECE under faults, 95 %", text=True), Column("nominal_ece", "ECE nominal", better=LOWER)]
    columns += [
        Column("announced", "Departures announced", text=True),
        Column("false", "Nominal drives with an alarm", text=True),
    ]
    columns += [] if times is None else [Column("ms", "CPU, ms a frame", digits=1, better=LOWER)]
    made = []
    for grade, one in rows.items():
        values = {f"auroc_{name}": Value(area["rho_delta"]["value"]) for name, area in one["ood_auroc"].items()}
        values |= {f"ood_{m}": Value(one[m]["ood_mean"]["value"]) for m in ("ece", "nll", "brier")}
        bounds = one["intervals"]["ood_ece"]
        values["interval"] = Value(text="–" if bounds["low"] is None else f"{bounds['low']:.3f} to {bounds['high']:.3f}")
        values["nominal_ece"] = Value(one["ece"][NOMINAL]["value"])
        values |= {name: Value(text=text) for name, text in _alarm_words(one["alarm"]).items()}
        values |= {} if times is None else {"ms": Value(times["grades_ms"].get(grade))}
        made.append(Row(grade, values))
    note = (
        "The paper's method fitted at each grade, on the frames that every grade has scores of. AUROC: rho + delta against "
        "nominal test drives. Alarm: level danger of the run's own calibrator, whose thresholds come from 6 drives only (it "
        "promises 1 in 7); the shipped one has 100."
    )
    if times is not None:
        note += f" CPU: one thread, ONNX Runtime (bench_grades); predictor and views take {times['prediction_ms']:.1f} ms more."
    return Table("grades", title, columns, made, note, "Grade")


def _alarm_words(alarm: Mapping[str, Any]) -> dict[str, str]:
    if "conditions" not in alarm:
        return {"announced": "–", "false": "–"}
    by_name = dict(alarm["conditions"])
    nominal = by_name.pop(NOMINAL)
    counts = {key: sum(one[key] for one in by_name.values()) for key in ("announced", "departures")}
    return {
        "announced": f"{counts['announced']} of {counts['departures']}",
        "false": f"{nominal['alarmed_drives']} of {nominal['drives']}",
    }
