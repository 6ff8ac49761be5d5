"""What a score buys: mean OOD ECE against nominal ECE while the score's weight grows from 0.

One number on OOD data can always be lowered by heating every frame, at the price of nominal calibration. A score is worth
something where its curve lies below that of uniform heating. All curves start from the same TTA probabilities and T_k.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.calibration.anomaly_weights import base_logits
from donkey_aicc.calibration.base import sigmoid
from donkey_aicc.calibration.catalogue import OURS
from donkey_aicc.calibration.temperature import fit_temperatures
from donkey_aicc.evaluation.methods_and_conditions import NOMINAL, Condition
from donkey_aicc.evaluation.metrics import Measured, mean_ece
from donkey_aicc.evaluation.split_study import SplitStudy
from donkey_aicc.evaluation.tables import LOWER, Column, Row, Table, Value, rounded_list, spread_cell
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


def frontier(calibration: ScoreTable, studies: Sequence[SplitStudy], conditions: Sequence[Condition]) -> dict[str, Any]:
    """Curves averaged over splits, and what each score reaches at the nominal ECE of ours."""
    traced = []
    for study in studies:
        scores = {condition.name: study.statistics.scores(condition.table) for condition in conditions}
        traced.append(trace_frontier(calibration.of_sequences(study.sources), conditions, scores))
    curves: dict[str, dict[str, Any]] = {}
    for name, label in FRONTIER_SCORES.items():
        if all(name in one for one in traced):
            mean = np.mean([one[name] for one in traced], axis=0)
            reached = [_reached(study, one[name]) for study, one in zip(studies, traced, strict=True)]
            curves[name] = {"label": label, "nominal_ece": rounded_list(mean[:, 0]), "ood_ece": rounded_list(mean[:, 1])}
            curves[name]["at_ours"] = spread_cell(reached)
    return {"weights": list(WEIGHTS), "curves": curves}


def _reached(study: SplitStudy, curve: Curve) -> Measured:
    if OURS in study.failed:
        return Measured(float("nan"), study.failed[OURS])
    target = study.outcomes[OURS][NOMINAL].mean["ece"].value
    return Measured(ood_ece_at(curve, target), "no point of the curve is that good on nominal data")


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
