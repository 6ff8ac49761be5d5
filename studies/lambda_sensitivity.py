"""How much the ridge in delta's covariance matters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.pool import build_pool, of_sources
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition
from donkey_aicc.evaluation.metrics import Measured, auroc, mean_ece
from donkey_aicc.evaluation.tables import Cell, Column, Row, Table, Value, mean_of, spread_cell
from donkey_aicc.scoring.score_table import ScoreTable

LAMBDAS = (1e-8, 1e-6, 1e-4, 1e-2)
_FEW_REFERENCES = 16  # the feature density is not used here


def lambda_sensitivity(
    calibration: ScoreTable,
    augmented: ScoreTable,
    splits: Sequence[tuple[list[str], int, int]],
    conditions: Sequence[Condition],
    lambdas: Sequence[float] = LAMBDAS,
) -> dict[str, dict[str, Cell]]:
    """lambda -> ours' OOD and nominal ECE, delta's mean OOD AUROC and weight; splits: (sequences, folds, seed)."""
    found = {}
    for value in lambdas:
        rows = [_sensitivity_at(calibration, augmented, split, conditions, value) for split in splits]
        found[f"{value:g}"] = {name: spread_cell([row[name] for row in rows]) for name in rows[0]}
    return found


def _sensitivity_at(
    calibration: ScoreTable,
    augmented: ScoreTable,
    split: tuple[list[str], int, int],
    conditions: Sequence[Condition],
    regularisation: float,
) -> dict[str, Measured]:
    sources, folds, seed = split
    chosen = calibration.of_sequences(sources)
    pool = build_pool(chosen, of_sources(augmented, sources), folds, seed, regularisation, max_references=_FEW_REFERENCES)
    ours = AnomalyTemperature().fit(chosen, pool)
    eces, delta, scores = {}, {}, {}
    for condition in conditions:
        scores[condition.name] = pool.statistics.scores(condition.table)
        confidence = ours.predict(condition.table, scores[condition.name])
        eces[condition.name] = Measured(mean_ece(confidence, condition.labels, condition.horizons), "no labelled samples")
        if condition.name != NOMINAL:
            pair = [scores[NOMINAL]["delta_z"], scores[condition.name]["delta_z"]]
            delta[condition.name] = auroc(np.concatenate(pair), np.repeat([0.0, 1.0], [len(values) for values in pair]))
    nominal = eces.pop(NOMINAL)
    return {
        "ood_ece": mean_of(list(eces.values()), list(eces)),
        "nominal_ece": nominal,
        "delta_auroc": mean_of(list(delta.values()), list(delta)),
        "w_rho": Measured(ours.weights["rho"]),
        "w_delta": Measured(ours.weights["delta"]),
    }


def lambda_table(results: dict[str, Any]) -> Table:
    """Ridge of delta's covariance."""
    labels = {
        "ood_ece": "OOD ECE",
        "nominal_ece": "Nominal ECE",
        "delta_auroc": "delta: OOD AUROC",
        "w_rho": "w_rho",
        "w_delta": "w_delta",
    }
    columns = [Column(key, label) for key, label in labels.items()]
    rows = [
        Row(value, {k: Value.of(c) for k, c in one.items()}, strong=value == "1e-06") for value, one in results["lambda"].items()
    ]
    note = "The paper's calibrator; the covariance of the 12 dynamics features is regularised by lambda (1e-6 in the paper)."
    return Table("lambda", "Sensitivity to lambda", columns, rows, note, first="lambda")
