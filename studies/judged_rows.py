"""Rows that are judged on whole conditions without splits: other predictors, other grades. Numbers with intervals over drives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition
from donkey_aicc.evaluation.metrics import auroc, horizon_average, per_horizon
from donkey_aicc.evaluation.resampling import DriveDraws, DriveWins, resample
from donkey_aicc.evaluation.split_study import Outcome, outcome_of
from donkey_aicc.evaluation.tables import cell, interval_cell, rounded

DRAWS = 1000
TITLES = {"ece": "ECE", "nll": "NLL", "brier": "Brier"}
SHOWN = tuple(TITLES)
HORIZONS_SHOWN = (5, 15, 30, 50)


@dataclass(frozen=True)
class Judged:
    """What `resample` reads of a split's study."""

    outcomes: dict[str, dict[str, Outcome]]  # row -> condition


def judge(rows: Mapping[str, Mapping[str, np.ndarray]], conditions: Sequence[Condition], first: str, seed: int) -> dict[str, Any]:
    """rows: name -> condition -> confidence (N, K). Also each row's gain over the row `first`, on the same drawn drives."""
    outcomes = {
        name: {one.name: outcome_of(np.asarray(by_condition[one.name], dtype=np.float64), one) for one in conditions}
        for name, by_condition in rows.items()
    }
    drawn = resample([Judged(outcomes)], list(rows), conditions[0].horizons, DRAWS, seed)  # type: ignore[list-item]
    drives = {one.name: len(one.table.sequences()) for one in conditions}
    fewest = min(number for name, number in drives.items() if name != NOMINAL)
    found: dict[str, Any] = {}
    for name, by_condition in outcomes.items():
        found[name] = {metric: {c: cell(outcome.mean[metric]) for c, outcome in by_condition.items()} for metric in SHOWN}
        for metric in SHOWN:
            known = [found[name][metric][c]["value"] for c in by_condition if c != NOMINAL]
            found[name][metric]["ood_mean"] = {"value": None if None in known else rounded(float(np.mean(known)))}
        found[name]["intervals"] = {
            quantity: interval_cell(values, drives[NOMINAL] if quantity.startswith(NOMINAL) else fewest)
            for quantity, values in drawn[name].items()
        }
        if name != first:
            found[name]["gain"] = {
                quantity: interval_cell(drawn[first][quantity] - drawn[name][quantity], fewest) for quantity in drawn[name]
            }
    return found


def auroc_gains(p: Mapping[str, np.ndarray], condition: Condition, first: str, horizon: int, seed: int) -> dict[str, Any]:
    """row -> 95 % bounds of (AUROC of `first` - AUROC of the row) at one horizon, over drawn drives."""
    column = condition.horizons.tolist().index(horizon)
    labels = condition.labels[:, column]
    names, owner = np.unique(condition.table.sequence, return_inverse=True)
    safe, unsafe = np.flatnonzero(labels == 1.0), np.flatnonzero(labels == 0.0)
    counts = DriveDraws.make(len(names), len(names), DRAWS, seed).positive
    draws = DriveDraws(counts, counts)  # a drawn drive brings both its safe and its unsafe frames
    drawn = {}
    for name, values in p.items():
        score = values[:, column]
        wins = DriveWins.count(score[safe], owner[safe], score[unsafe], owner[unsafe], (len(names), len(names)))
        drawn[name] = draws.auroc(wins)
    return {name: interval_cell(drawn[first] - each, len(names)) for name, each in drawn.items() if name != first}


def aurocs(p: np.ndarray, condition: Condition) -> dict[str, Any]:
    """AUROC of safe against unsafe at the shown horizons, and its mean over 5..50."""
    values = per_horizon(auroc, p, condition.labels)
    row = {str(k): cell(values[condition.horizons.tolist().index(k)]) for k in HORIZONS_SHOWN if k in condition.horizons}
    return row | {"mean": cell(horizon_average(values, condition.horizons))}
