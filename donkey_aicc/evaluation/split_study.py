"""Everything that is measured on one random split of the calibration sequences; among it, what a score buys (the frontier).

The frontier is mean OOD ECE against nominal ECE while a score's weight grows from 0. One number on OOD data can always be lowered
by heating every frame, at the price of nominal calibration. A score is worth something where its curve lies below that of
uniform heating. All curves start from the same TTA probabilities and T_k.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_weights import base_logits
from donkey_aicc.calibration.base import sigmoid
from donkey_aicc.calibration.pool import build_pool, of_sources
from donkey_aicc.calibration.temperature import fit_temperatures
from donkey_aicc.evaluation import metrics
from donkey_aicc.evaluation.methods_and_conditions import METHODS, NOMINAL, Condition, Fitted, fit_methods
from donkey_aicc.evaluation.metrics import Measured, bin_sums, ece_of_sums, horizon_average, mean_ece, per_horizon
from donkey_aicc.evaluation.score_quality import ood_auroc
from donkey_aicc.evaluation.tables import LOWER, Column, Row, Table, Value
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import Scores

UNIFORM = "uniform"
FRONTIER_SCORES = {
    UNIFORM: "Uniform heating",
    "rho": "rho",
    "delta": "delta",
    "rho_delta": "rho + delta",
    "rho_two_sided": "|rho|",
    "latent": "Latent distance",
    "dac": "DAC's feature density",
    "tta_spread": "TTA spread",
}
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0, 4.0)

Curve = np.ndarray  # (weights, 2): nominal ECE, mean OOD ECE; NaN where undefined
Frontier = dict[str, Curve]


@dataclass(frozen=True)
class _Prepared:
    logits: np.ndarray  # (N, K) logit(p_tta) / T_k
    condition: Condition
    scores: Scores


def trace_frontier(
    calibration: ScoreTable, conditions: Sequence[Condition], scores: Mapping[str, Scores], weights: Sequence[float] = WEIGHTS
) -> Frontier:
    """score -> curve. Scores whose column was not recorded are left out."""
    temperatures = fit_temperatures(calibration, calibration.p_tta, "the frontier")
    prepared = [_Prepared(base_logits(c.table.p_tta, c.horizons, temperatures), c, scores[c.name]) for c in conditions]
    found = {}
    for name in FRONTIER_SCORES:
        heats = [_heat(name, one.scores, len(one.logits)) for one in prepared]
        if all(heat is not None for heat in heats):
            found[name] = np.array([_point(prepared, heats, weight) for weight in weights])
    return found


def ood_ece_at(curve: Curve, nominal_ece: float) -> float:
    """Least mean OOD ECE on the curve whose nominal ECE stays within the given one, straight between points; NaN if none."""
    if not np.isfinite(curve).all():
        return float("nan")
    best = float("nan")
    for (x0, y0), (x1, y1) in zip(curve[:-1], curve[1:], strict=True):
        candidates = [y for x, y in ((x0, y0), (x1, y1)) if x <= nominal_ece]
        if min(x0, x1) < nominal_ece < max(x0, x1):
            candidates.append(y0 + (y1 - y0) * (nominal_ece - x0) / (x1 - x0))
        best = float(np.nanmin([best, *candidates])) if candidates else best
    return best


def _heat(name: str, scores: Scores, rows: int) -> np.ndarray | None:
    if name == UNIFORM:
        return np.ones(rows)
    if name == "rho_delta":
        return scores["rho"] + scores["delta"]
    return scores.get(name)


def _point(prepared: Sequence[_Prepared], heats: Sequence[np.ndarray | None], weight: float) -> tuple[float, float]:
    nominal, odd = float("nan"), []
    for one, heat in zip(prepared, heats, strict=True):
        assert heat is not None
        confidence = sigmoid(one.logits * np.exp(-weight * heat)[:, None])
        error = mean_ece(confidence, one.condition.labels, one.condition.horizons)
        if one.condition.name == NOMINAL:
            nominal = error
        else:
            odd.append(error)
    return nominal, float(np.mean(odd))


def frontier_table(results: dict[str, Any]) -> Table:
    """What each score reaches at the nominal price of ours."""
    columns = [Column("at_ours", "at ours' nominal ECE", better=LOWER)]
    rows = [
        Row(curve["label"], {"at_ours": Value.of(curve["at_ours"])}, ranked=name != "uniform")
        for name, curve in results["frontier"]["curves"].items()
    ]
    note = (
        "Lowest mean OOD ECE along each curve of the frontier without a worse nominal ECE than ours has. The weight is "
        "chosen with the test data in view, the same gift for every row, so compare rows with uniform heating, "
        "not with the tables above."
    )
    return Table("frontier", "What each score can buy at equal nominal ECE", columns, rows, note, first="Score")


METRICS: dict[str, Callable[[np.ndarray, np.ndarray], Measured]] = {
    "ece": metrics.ece_top_label,
    "ace": metrics.ace,
    "sce": metrics.sce,
    "ece_binary": metrics.ece_binary,
    "nll": metrics.nll,
    "brier": metrics.brier,
    "aurc": metrics.aurc,
    "auroc": metrics.auroc,
}


@dataclass(frozen=True)
class Outcome:
    """One method on one condition."""

    by_horizon: dict[str, list[Measured]]  # metric -> one number per horizon
    mean: dict[str, Measured]  # metric -> horizon average
    sums: np.ndarray  # (sequences, K, bins, 3) for resampling and reliability diagrams
    nll_sums: np.ndarray  # (sequences, K, 2): count and summed NLL
    safe_sums: np.ndarray  # both again for the safe frames alone
    safe_nll_sums: np.ndarray


@dataclass(frozen=True)
class SplitStudy:
    """Results of one split. Rows that could not be fitted are in `failed` and nowhere else."""

    outcomes: dict[str, dict[str, Outcome]]  # method -> condition
    failed: dict[str, str]
    ood_detection: dict[str, dict[str, Measured]]  # protocol -> row of OOD_ROWS
    weights: dict[str, dict[str, float]]  # method -> score -> weight
    temperatures: dict[str, dict[int, float]]  # method -> horizon -> T_k
    frontier: Frontier


def study_split(
    calibration: ScoreTable,
    augmented: ScoreTable,
    driven: ScoreTable | None,
    sources: Sequence[str],
    conditions: Sequence[Condition],
    folds: int,
    seed: int,
    advance: Callable[[int], None],
) -> SplitStudy:
    """Fit on the given calibration sequences and what D_aug made of them; measure on the fixed conditions."""
    chosen = calibration.of_sequences(sources)
    pool = build_pool(chosen, of_sources(augmented, list(sources)), folds=folds, seed=seed, driven=driven)
    scores = {condition.name: pool.statistics.scores(condition.table) for condition in conditions}
    fitted = fit_methods(chosen, pool, conditions[0], scores[NOMINAL])
    outcomes: dict[str, dict[str, Outcome]] = {}
    for name in METHODS:
        if name in fitted.calibrators:
            outcomes[name] = {
                condition.name: outcome_of(fitted.calibrators[name].predict(condition.table, scores[condition.name]), condition)
                for condition in conditions
            }
        advance(1)
    return SplitStudy(
        outcomes=outcomes,
        failed=fitted.failed,
        ood_detection={c.name: ood_auroc(conditions[0].table, c.table, pool.statistics) for c in conditions[1:]},
        weights=_weights(fitted),
        temperatures=_temperatures(fitted),
        frontier=trace_frontier(chosen, conditions, scores),
    )


def outcome_of(confidence: np.ndarray, condition: Condition) -> Outcome:
    """confidence: (N, K) of the condition's rows."""
    labels, horizons = condition.labels, condition.horizons
    names, number = np.unique(condition.table.sequence, return_inverse=True)
    sums = bin_sums(confidence, labels, number, len(names))
    by_horizon = {metric: per_horizon(METRICS[metric], confidence, labels) for metric in METRICS if metric != "ece"}
    by_horizon["ece"] = _eces(sums)
    mean = {metric: horizon_average(values, horizons) for metric, values in by_horizon.items()}
    safe = np.where(labels > 0.5, labels, np.nan)
    return Outcome(
        by_horizon,
        mean,
        sums,
        _nll_sums(confidence, labels, number, len(names)),
        safe_sums=bin_sums(confidence, safe, number, len(names)),
        safe_nll_sums=_nll_sums(confidence, safe, number, len(names)),
    )


def _eces(sums: np.ndarray) -> list[Measured]:
    total = sums.sum(axis=0)
    return [Measured(float(e), "" if np.isfinite(e) else "no labelled samples") for e in ece_of_sums(total)]


def _nll_sums(confidence: np.ndarray, labels: np.ndarray, number: np.ndarray, groups: int) -> np.ndarray:
    given = np.clip(np.where(labels > 0.5, confidence, 1.0 - confidence), 1e-6, 1.0)
    known = ~np.isnan(labels)
    loss = np.where(known, -np.log(given), 0.0)
    horizons = labels.shape[1]
    found = np.zeros((groups, horizons, 2))
    for column in range(horizons):
        found[:, column, 0] = np.bincount(number, weights=known[:, column], minlength=groups)
        found[:, column, 1] = np.bincount(number, weights=loss[:, column], minlength=groups)
    return found


def _weights(fitted: Fitted) -> dict[str, dict[str, float]]:
    return {name: c.shown_weights() for name, c in fitted.calibrators.items() if c.shown_weights()}


def _temperatures(fitted: Fitted) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for name in ("temperature", "tta"):
        if name in fitted.calibrators:
            found[name] = dict(fitted.calibrators[name].temperatures)  # type: ignore[attr-defined]
    return found
