"""How much of an error nobody could avoid.

Oracles know what no calibrator can know before the drive. `knows_share` is told the share of safe frames of each protocol and
horizon and moves every confidence by the same log odds: what it gains is the price of the unknown base rate. `recalibrated` is
fitted on the protocol's own labels (one slope and one offset per horizon): the NLL that is left is lost discrimination.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize

from donkey_aicc.calibration.base import Calibrator, logit, sigmoid
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition
from donkey_aicc.evaluation.metrics import horizon_average, mean_ece, nll, per_horizon
from donkey_aicc.evaluation.tables import Column, Row, Table, Value, rounded
from donkey_aicc.scoring.statistics import ScoreStatistics

_LARGEST_SHIFT = 30.0
Change = Callable[[np.ndarray, np.ndarray], np.ndarray]  # logits and labels of known frames -> better logits


def bounds(calibrator: Calibrator, conditions: Sequence[Condition], statistics: ScoreStatistics) -> dict[str, Any]:
    """oracle -> protocol -> ECE and NLL (horizon averages), and their mean; `as_calibrated` is the calibrator itself."""
    found: dict[str, Any] = {name: {} for name in ("as_calibrated", "knows_share", "recalibrated")}
    for condition in conditions:
        if condition.name == NOMINAL:
            continue
        given = calibrator.predict(condition.table, statistics.scores(condition.table))
        for name, change in (("as_calibrated", None), ("knows_share", _shifted), ("recalibrated", _refitted)):
            p = given if change is None else _by_horizon(change, given, condition.labels)
            loss = horizon_average(per_horizon(nll, p, condition.labels), condition.horizons)
            found[name][condition.name] = {
                "ece": rounded(mean_ece(p, condition.labels, condition.horizons)),
                "nll": rounded(float(loss)),
            }
    for rows in found.values():
        rows["mean"] = {key: _mean([row[key] for row in rows.values()]) for key in ("ece", "nll")}
    return found


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return rounded(float(np.mean(known))) if known and len(known) == len(values) else None


def _by_horizon(change: Change, p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    changed = p.copy()
    for column in range(p.shape[1]):
        known = ~np.isnan(labels[:, column])
        if known.any() and 0.0 < labels[known, column].mean() < 1.0:
            changed[known, column] = sigmoid(change(logit(p[known, column]), labels[known, column]))
    return changed


def _shifted(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    share = float(labels.mean())
    shift = brentq(lambda b: float(sigmoid(logits + b).mean()) - share, -_LARGEST_SHIFT, _LARGEST_SHIFT)
    return logits + shift


def _refitted(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    def loss(ab: np.ndarray) -> float:
        z = ab[0] * logits + ab[1]
        return float(np.logaddexp(0.0, np.where(labels > 0.5, -z, z)).mean())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-6}).x
    return slope * logits + offset


ORACLES = {
    "as_calibrated": "Ours, as calibrated",
    "knows_share": "Oracle: knows the share of safe frames",
    "recalibrated": "Oracle: recalibrated on the protocol itself",
}


def bounds_table(results: dict[str, Any]) -> Table:
    """What knowing the base rate, or everything but the picture, would gain."""
    stored = results.get("bounds", {})
    protocols = [*results["settings"]["protocols"], "mean"]
    columns = [Column(f"{p}_{m}", f"{p.capitalize()}: {m.upper()}") for m in ("ece", "nll") for p in protocols]
    rows = []
    for name, label in ORACLES.items():
        by_protocol = stored.get(name, {})
        values = {f"{p}_{m}": Value(by_protocol.get(p, {}).get(m), reason="undefined") for p in protocols for m in ("ece", "nll")}
        rows.append(Row(label, values, ranked=False))
    note = stored.get("reason", "") or (
        "The first oracle moves all confidences of a protocol by one step in log odds per horizon: what it gains is the price of "
        "the unknown base rate. The second is fitted on the labels it is judged by: the NLL that is left is discrimination lost."
    )
    return Table("bounds", "Oracle bounds", columns, rows, note, first="Who")
