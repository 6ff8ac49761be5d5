"""Everything that is fitted and measured on one random split of the calibration sequences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.pool import build_pool, of_sources
from donkey_aicc.evaluation import metrics
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition, FittedMethods, fit_methods, methods
from donkey_aicc.evaluation.metrics import Measured, bin_sums, ece_of_sums, horizon_average, per_horizon
from donkey_aicc.evaluation.score_quality import ood_auroc
from donkey_aicc.evaluation.smooth_calibration import PARTS, augrc, residual_sums, score_parts, smooth_ece_of_sums
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics

METRICS: dict[str, Callable[[np.ndarray, np.ndarray], Measured]] = {
    "ece": metrics.ece_top_label,
    "ace": metrics.ace,
    "sce": metrics.sce,
    "ece_binary": metrics.ece_binary,
    "nll": metrics.nll,
    "brier": metrics.brier,
    "aurc": metrics.aurc,
    "augrc": augrc,
    "auroc": metrics.auroc,
}
SMOOTH = "smooth_ece"
ALL_METRICS = (*METRICS, SMOOTH, *PARTS)


@dataclass(frozen=True)
class Outcome:
    """One method on one condition."""

    by_horizon: dict[str, list[Measured]]  # metric -> one number per horizon
    mean: dict[str, Measured]  # metric -> horizon average
    sums: np.ndarray  # (sequences, K, bins, 3) for resampling and reliability diagrams
    residuals: np.ndarray  # (sequences, K, points + 1) for the interval of the smooth ECE
    nll_sums: np.ndarray  # (sequences, K, 2): count and summed NLL


@dataclass(frozen=True)
class SplitStudy:
    """Results of one split. Rows that could not be fitted are in `failed` and nowhere else."""

    sources: list[str]  # calibration sequences
    statistics: ScoreStatistics
    calibrators: dict[str, Calibrator]  # method -> as fitted on this split
    outcomes: dict[str, dict[str, Outcome]]  # method -> condition
    failed: dict[str, str]
    ood_detection: dict[str, dict[str, Measured]]  # protocol -> row of OOD_ROWS
    weights: dict[str, dict[str, float]]  # method -> score -> weight
    temperatures: dict[str, dict[int, float]]  # method -> horizon -> T_k


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
    for name in methods(calibration.own_names.tolist()):
        if name in fitted.calibrators:
            outcomes[name] = {
                condition.name: outcome_of(fitted.calibrators[name].predict(condition.table, scores[condition.name]), condition)
                for condition in conditions
            }
        advance(1)
    return SplitStudy(
        sources=list(sources),
        statistics=pool.statistics,
        calibrators=fitted.calibrators,
        outcomes=outcomes,
        failed=fitted.failed,
        ood_detection={c.name: ood_auroc(conditions[0].table, c.table, pool.statistics) for c in conditions[1:]},
        weights=_weights(fitted),
        temperatures=_temperatures(fitted),
    )


def outcome_of(confidence: np.ndarray, condition: Condition) -> Outcome:
    """confidence: (N, K) of the condition's rows."""
    labels, horizons = condition.labels, condition.horizons
    names, number = np.unique(condition.table.sequence, return_inverse=True)
    sums = bin_sums(confidence, labels, number, len(names))
    by_horizon = {metric: per_horizon(METRICS[metric], confidence, labels) for metric in METRICS if metric != "ece"}
    by_horizon["ece"] = _measured(ece_of_sums(sums.sum(axis=0)))
    residuals = residual_sums(confidence, labels, number, len(names))
    by_horizon[SMOOTH] = _measured(smooth_ece_of_sums(residuals.sum(axis=0)))
    parts = [score_parts(confidence[:, column], labels[:, column]) for column in range(confidence.shape[1])]
    by_horizon |= {name: [part[name] for part in parts] for name in PARTS}
    mean = {metric: horizon_average(values, horizons) for metric, values in by_horizon.items()}
    return Outcome(by_horizon, mean, sums, residuals, nll_sums(confidence, labels, number, len(names)))


def _measured(errors: np.ndarray) -> list[Measured]:
    return [Measured(float(e), "" if np.isfinite(e) else "no labelled samples") for e in errors]


def nll_sums(confidence: np.ndarray, labels: np.ndarray, number: np.ndarray, groups: int) -> np.ndarray:
    """(groups, K, 2): count and summed NLL of the labelled frames of each group; number: (N,) group of each row."""
    given = np.clip(np.where(labels > 0.5, confidence, 1.0 - confidence), 1e-6, 1.0)
    known = ~np.isnan(labels)
    loss = np.where(known, -np.log(given), 0.0)
    horizons = labels.shape[1]
    found = np.zeros((groups, horizons, 2))
    for column in range(horizons):
        found[:, column, 0] = np.bincount(number, weights=known[:, column], minlength=groups)
        found[:, column, 1] = np.bincount(number, weights=loss[:, column], minlength=groups)
    return found


def _weights(fitted: FittedMethods) -> dict[str, dict[str, float]]:
    return {name: c.shown_weights() for name, c in fitted.calibrators.items() if c.shown_weights()}


def _temperatures(fitted: FittedMethods) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for name in ("temperature", "tta"):
        if name in fitted.calibrators:
            found[name] = dict(fitted.calibrators[name].temperatures)  # type: ignore[attr-defined]
    return found
