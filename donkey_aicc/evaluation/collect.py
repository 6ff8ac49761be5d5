"""From the studies of all splits to the sections of results.json."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition, Method, methods
from donkey_aicc.evaluation.metrics import BINS, FIRST_BIN, Measured, auroc, horizon_average, horizon_weights, per_horizon
from donkey_aicc.evaluation.resampling import resample, wilcoxon
from donkey_aicc.evaluation.score_quality import OOD_ROWS
from donkey_aicc.evaluation.split_study import ALL_METRICS, SplitStudy
from donkey_aicc.evaluation.tables import Cell, cell, interval_cell, mean_of, rounded, rounded_list, spread_cell

OOD_MEAN = "ood_mean"
SHOWN_HORIZONS = (5, 15, 30, 50)
HORIZON_METRICS = ("ece", "ace", "sce")

Studies = Sequence[SplitStudy]


def base_predictor(conditions: Sequence[Condition]) -> dict[str, dict[str, Cell]]:
    """AUROC of the raw prediction per condition: every horizon, and the horizon average."""
    found = {}
    for condition in conditions:
        values = per_horizon(auroc, condition.table.p_safe, condition.labels)
        row = {str(int(k)): cell(value) for k, value in zip(condition.horizons, values, strict=True)}
        found[condition.name] = row | {"mean": cell(horizon_average(values, condition.horizons))}
    return found


def ood_detection(studies: Studies) -> dict[str, dict[str, Any]]:
    """Row -> AUROC per protocol and their mean, spread over splits."""
    protocols = list(studies[0].ood_detection)
    found: dict[str, dict[str, Any]] = {}
    for row, label in OOD_ROWS.items():
        per_split = [[study.ood_detection[protocol][row] for protocol in protocols] for study in studies]
        cells = {p: spread_cell([values[number] for values in per_split]) for number, p in enumerate(protocols)}
        found[row] = {"label": label, **cells, OOD_MEAN: spread_cell([mean_of(values, protocols) for values in per_split])}
    return found


def _methods(studies: Studies) -> dict[str, Method]:
    return methods(studies[0].statistics.own)


def calibration(studies: Studies) -> dict[str, dict[str, Any]]:
    """Method -> metric -> condition -> spread over splits; `ood_mean` is the mean over the protocols."""
    found: dict[str, dict[str, Any]] = {}
    for name, method in _methods(studies).items():
        found[name] = {"label": method.label, "group": method.group}
        for metric in ALL_METRICS:
            found[name][metric] = _metric_row(studies, name, metric)
    return found


def _metric_row(studies: Studies, method: str, metric: str) -> dict[str, Cell]:
    conditions = _conditions(studies)
    protocols = [condition for condition in conditions if condition != NOMINAL]
    by_split = [{c: _mean(study, method, c, metric) for c in conditions} for study in studies]
    row = {c: spread_cell([values[c] for values in by_split]) for c in conditions}
    return row | {OOD_MEAN: spread_cell([mean_of([values[p] for p in protocols], protocols) for values in by_split])}


def _conditions(studies: Studies) -> list[str]:
    return [NOMINAL, *studies[0].ood_detection]


def _mean(study: SplitStudy, method: str, condition: str, metric: str) -> Measured:
    if method in study.failed:
        return Measured(float("nan"), study.failed[method])
    return study.outcomes[method][condition].mean[metric]


def fitted_everywhere(studies: Studies) -> list[str]:
    return [name for name in _methods(studies) if all(name in study.outcomes for study in studies)]


def intervals(studies: Studies, conditions: Sequence[Condition], draws: int, seed: int) -> dict[str, Any]:
    """Method -> quantity -> bounds; `minus_ours` compares on the same resampled drives."""
    names = fitted_everywhere(studies)
    if not names:
        return {}
    drawn = resample(studies, names, conditions[0].horizons, draws, seed)
    fewest = min(len(condition.table.sequences()) for condition in conditions[1:])
    nominal = len(conditions[0].table.sequences())
    found: dict[str, Any] = {}
    for name in names:
        found[name] = {q: interval_cell(v, nominal if q.startswith("nominal") else fewest) for q, v in drawn[name].items()}
        if OURS in drawn and name != OURS:
            for quantity in ("ood_ece", "ood_nll"):
                found[name][f"{quantity}_minus_ours"] = interval_cell(drawn[name][quantity] - drawn[OURS][quantity], fewest)
    return found


def wilcoxon_tests(studies: Studies) -> dict[str, dict[str, Any]]:
    """Reference -> method -> p-value over protocol x split pairs of horizon-averaged ECE, and the mean difference."""
    return {OURS: {n: _pairs(studies, n, OURS) for n in _methods(studies) if n != OURS}}


def _pairs(studies: Studies, method: str, reference: str) -> dict[str, Any]:
    pairs = [
        [float(_mean(study, name, protocol, "ece")) for name in (method, reference)]
        for study in studies
        for protocol in studies[0].ood_detection
    ]
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    p = cell(wilcoxon(first.tolist(), second.tolist()))
    found = {"p": p["value"], "pairs": len(pairs), "mean_difference": rounded(float((first - second).mean()))}
    return found | ({"reason": p["reason"]} if "reason" in p else {})


def by_horizon(studies: Studies) -> dict[str, Any]:
    """Metric -> method -> condition -> mean and standard deviation over splits, one number per horizon."""
    found: dict[str, Any] = {}
    for metric in HORIZON_METRICS:
        found[metric] = {}
        for name in fitted_everywhere(studies):
            found[metric][name] = {}
            for condition in _conditions(studies):
                outcomes = [study.outcomes[name][condition].by_horizon[metric] for study in studies]
                values = np.array([[one.value for one in outcome] for outcome in outcomes])
                spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
                found[metric][name][condition] = {"mean": rounded_list(values.mean(axis=0)), "std": rounded_list(spread)}
    return found


def reliability(studies: Studies, horizons: np.ndarray) -> dict[str, Any]:
    """Bins of confidence over all protocols, splits and the horizons 5..50 together."""
    used = horizon_weights(horizons) > 0
    edges = np.linspace(0.0, 1.0, BINS + 1)[FIRST_BIN:]
    found: dict[str, Any] = {"edges": rounded_list(edges), "methods": {}}
    for name in fitted_everywhere(studies):
        total = np.zeros(1)
        for study in studies:
            for condition, outcome in study.outcomes[name].items():
                if condition != NOMINAL:
                    total = total + outcome.sums[:, used].sum(axis=(0, 1))
        found["methods"][name] = _diagram(total / len(studies))
    return found


def _diagram(sums: np.ndarray) -> dict[str, Any]:
    """sums: (bins, 3) count, confidence, hits."""
    count = sums[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        confidence, accuracy = sums[:, 1] / count, sums[:, 2] / count
    error = np.abs(sums[:, 1] - sums[:, 2]).sum() / count.sum() if count.sum() else float("nan")
    return {
        "count": rounded_list(count),
        "confidence": rounded_list(confidence),
        "accuracy": rounded_list(accuracy),
        "error": rounded(error),
    }


def weights(studies: Studies) -> dict[str, Any]:
    """Fitted weights and temperatures over splits. A score that a split did not choose counts as weight 0."""
    found: dict[str, Any] = {"fitted": {}, "temperatures": {}}
    for name in _methods(studies):
        rows = [study.weights[name] for study in studies if name in study.weights]
        if rows:
            scores = list(dict.fromkeys(score for row in rows for score in row))
            found["fitted"][name] = {s: spread_cell([Measured(row.get(s, 0.0)) for row in rows]) for s in scores}
    for name in studies[0].temperatures:
        horizons = studies[0].temperatures[name]
        found["temperatures"][name] = {
            str(k): spread_cell([Measured(study.temperatures[name][k]) for study in studies]) for k in horizons
        }
    return found
