"""The whole evaluation: score tables in, one JSON-able dictionary out (docs/evaluation.md lists its keys).

Every split of the calibration sequences refits statistics and calibrators; test tables stay the same throughout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.pool import Pool, build_pool
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation import collect
from donkey_aicc.evaluation.alarm_metrics import measure_alarm
from donkey_aicc.evaluation.input_checks import DRAWS, FOLDS, SEEDS, SplitPlan, check_counts, check_inputs, choose_splits
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition, describe, evaluated_conditions, methods
from donkey_aicc.evaluation.score_quality import measure_monotonicity, ood_intervals
from donkey_aicc.evaluation.split_study import SplitStudy, study_split
from donkey_aicc.evaluation.summary import summarise
from donkey_aicc.evaluation.tables import rounded
from donkey_aicc.progress import Progress
from donkey_aicc.scoring.score_table import ScoreTable

SCHEMA_VERSION = 1

Results = dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """The results, and what they were made from, for whoever measures further things on it."""

    results: Results
    conditions: list[Condition]
    splits: list[SplitStudy]
    pool: Pool  # of all calibration sequences: what a bundle that ships is calibrated with


def evaluate(
    calibration: ScoreTable, augmented: ScoreTable, test: ScoreTable, ood: Mapping[str, ScoreTable], **options: Any
) -> Results:
    """The numbers of `evaluate_in_full`, which takes the same."""
    return evaluate_in_full(calibration, augmented, test, ood, **options).results


def evaluate_in_full(
    calibration: ScoreTable,
    augmented: ScoreTable,
    test: ScoreTable,
    ood: Mapping[str, ScoreTable],
    *,
    driven: ScoreTable | None = None,
    seeds: int = SEEDS,
    folds: int = FOLDS,
    seed: int = 0,
    draws: int = DRAWS,
    about: Mapping[str, Any] | None = None,
    calibrator: Calibrator | None = None,
) -> Evaluation:
    """calibration, test: nominal drives; augmented: D_aug of the calibration drives; ood: protocol -> its drives.

    driven: drives in closed loop under the faults of D_aug; seeds: splits of the calibration sequences; draws: resamples of
    whole sequences for the intervals; about: facts to print on the report (names and values); calibrator: the bundle's own,
    whose hazard and alarm are judged.
    """
    check_counts(seeds, draws)
    check_inputs(calibration, augmented, test, ood)
    conditions = evaluated_conditions(test, ood)
    plans, notes = plan_splits(calibration, seeds, folds, seed)
    rows = methods(calibration.own_names.tolist())
    with Progress("evaluating", total=seeds * len(rows), unit="fits") as bar:
        studies = [
            study_split(calibration, augmented, driven, sources, conditions, split_folds, split_seed, bar.advance)
            for sources, split_folds, split_seed in plans
        ]
    whole = _whole_pool(calibration, augmented, driven, folds, seed)
    tables = {condition.name: test if condition.name == NOMINAL else ood[condition.name] for condition in conditions}
    results: Results = {
        "schema_version": SCHEMA_VERSION,
        "settings": _settings(conditions, plans, seed, draws)
        | {"methods": {name: {"label": row.label, "group": row.group} for name, row in rows.items()}},
        "about": dict(about or {}),
        "notes": [*notes, *_short_families(augmented)],
        "summary": [],
        "data": _data(calibration, augmented, conditions, tables),
        "base_predictor": collect.base_predictor(conditions),
        "ood_detection": _ood_detection(studies, whole, conditions, draws, seed),
        "calibration": collect.calibration(studies),
        "intervals": collect.intervals(studies, conditions, draws, seed),
        "wilcoxon": collect.wilcoxon_tests(studies),
        "by_horizon": collect.by_horizon(studies),
        "reliability": collect.reliability(studies, conditions[0].horizons),
        "monotonicity": _monotonicity(whole, conditions),
        "weights": collect.weights(studies) | {"by_family": _weights_by_family(whole)},
        "alarm": measure_alarm(calibrator, tables),
    }
    results["summary"] = summarise(results)
    return Evaluation(results, conditions, studies, whole)


def plan_splits(calibration: ScoreTable, seeds: int, folds: int, seed: int) -> tuple[list[SplitPlan], list[str]]:
    """`choose_splits` for a scored table: its valid rows count."""
    usable = calibration.select(calibration.valid.astype(bool))
    labels = {name: usable.labels[usable.sequence == name] for name in usable.sequences()}
    return choose_splits(labels, usable.horizons, seeds, folds, seed)


def _short_families(augmented: ScoreTable) -> list[str]:
    """A family all of whose pieces are shorter than the context takes no part in any fit."""
    counted = set(augmented.protocol[augmented.valid.astype(bool)].tolist())
    missing = [family for family in dict.fromkeys(augmented.protocol.tolist()) if family not in counted]
    if not missing:
        return []
    return [f"D_aug has no frame with a full context of {', '.join(missing)}: the calibration drives are too short for it."]


def _whole_pool(calibration: ScoreTable, augmented: ScoreTable, driven: ScoreTable | None, folds: int, seed: int) -> Pool:
    sequences = len(calibration.select(calibration.valid.astype(bool)).sequences())
    return build_pool(calibration, augmented, folds=min(folds, sequences), seed=seed, driven=driven)


def _settings(conditions: Sequence[Condition], plans: Sequence[SplitPlan], seed: int, draws: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "splits": [{"sequences": sources, "folds": folds, "seed": split_seed} for sources, folds, split_seed in plans],
        "draws": draws,
        "horizons": conditions[0].horizons.tolist(),
        "protocols": [condition.name for condition in conditions[1:]],
    }


def _data(
    calibration: ScoreTable, augmented: ScoreTable, conditions: Sequence[Condition], tables: Mapping[str, ScoreTable]
) -> dict[str, Any]:
    found = {
        name: describe(Condition(name, table.select(table.valid.astype(bool))), table)
        for name, table in (("calibration", calibration), ("augmented", augmented))
    }
    return found | {condition.name: describe(condition, tables[condition.name]) for condition in conditions}


def _monotonicity(whole: Pool, conditions: Sequence[Condition]) -> dict[str, Any]:
    families = {family: whole.augmented.select(whole.augmented.protocol == family) for family in whole.families()}
    protocols = {condition.name: condition.table for condition in conditions[1:]}
    return {
        "d_aug": measure_monotonicity(whole.nominal, families, whole.statistics),
        "protocols": measure_monotonicity(conditions[0].table, protocols, whole.statistics),
    }


def _weights_by_family(whole: Pool) -> dict[str, Any]:
    try:
        found = AnomalyTemperature().fit(whole.nominal, whole).weights_by_family(whole)
    except AiccError as error:
        return {"reason": str(error)}
    return {family: {name: rounded(weight) for name, weight in weights.items()} for family, weights in found.items()}


def _ood_detection(
    studies: Sequence[SplitStudy], whole: Pool, conditions: Sequence[Condition], draws: int, seed: int
) -> dict[str, Any]:
    found = collect.ood_detection(studies)
    faulty = {condition.name: condition.table for condition in conditions[1:]}
    bounds_of = ood_intervals(conditions[0].table, faulty, whole.statistics, draws, seed)
    return {row: values | {"intervals": bounds_of[row]} for row, values in found.items()}
