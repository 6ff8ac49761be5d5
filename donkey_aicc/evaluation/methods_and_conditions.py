"""What is compared and on what.

Conditions: the nominal test frames and, for each protocol, the frames that were driven under it. Methods: the rows of the
calibration tables, what they belong to, and fitting all of them on one split.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import (
    ABLATION,
    BASELINES,
    CONTROLS,
    DEFAULT_METHOD,
    FURTHER,
    LABELLED,
    MORE_BASELINES,
    OURS,
    OWN_ROWS,
    PLUS,
    RESTORED,
    make_calibrator,
)
from donkey_aicc.calibration.controls import UniformHeating
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import mean_ece
from donkey_aicc.evaluation.tables import rounded
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import Scores

NOMINAL = "nominal"
PROTOCOL_ORDER = ("dark", "blur", "bias", "latency")


@dataclass(frozen=True)
class Condition:
    """Rows with a full context only. For a protocol: only the frames driven under it (what comes before is warm-up)."""

    name: str
    table: ScoreTable

    @property
    def horizons(self) -> np.ndarray:
        return self.table.horizons

    @property
    def labels(self) -> np.ndarray:
        return self.table.labels


def evaluated_conditions(test: ScoreTable, ood: Mapping[str, ScoreTable]) -> list[Condition]:
    """Nominal first, then the protocols in the paper's order, then any others."""
    found = [Condition(NOMINAL, test.select(test.valid.astype(bool) & (test.protocol == "")))]
    known = [name for name in PROTOCOL_ORDER if name in ood]
    for name in known + sorted(set(ood) - set(known)):
        found.append(Condition(name, ood[name].select(ood[name].valid.astype(bool) & (ood[name].protocol == name))))
    return found


def describe(condition: Condition, table: ScoreTable) -> dict[str, object]:
    """Counts for the data table; table: all frames of the condition, with those that only serve as label targets."""
    labels = condition.labels
    first = labels[:, 0]
    severities, counts = np.unique(condition.table.severity, return_counts=True)
    by_severity = {str(int(level)): first[condition.table.severity == level] for level in severities}
    return {
        "sequences": len(condition.table.sequences()),
        "frames": len(condition.table),
        "frames_recorded": len(table),
        "labelled_frames": int((~np.isnan(labels)).any(axis=1).sum()),
        "safe_percent": _safe_percent(first),
        "frames_by_severity": {str(int(s)): int(n) for s, n in zip(severities, counts, strict=True)},
        "safe_percent_by_severity": {level: _safe_percent(own) for level, own in by_severity.items()},
    }


def _safe_percent(labels: np.ndarray) -> float | None:
    """Of the labels that are known."""
    known = labels[~np.isnan(labels)]
    return rounded(100.0 * known.mean()) if len(known) else None


HEATED_TO_OURS = "uniform_heating"

GROUPS = {
    "baseline": "Baselines",
    "ablation": "Ours and its ablation",
    "restored": "Restored view and hindsight",
    "further": "Further scores",
    "control": "Controls",
    "labelled": "Needs labels while driving",
    "own": "Your own",
}


@dataclass(frozen=True)
class Method:
    """One row."""

    name: str
    label: str
    group: str  # a key of GROUPS


def _label(name: str) -> str:
    return "Ours (TTA + rho + delta)" if name == OURS else make_calibrator(name).label


METHODS: dict[str, Method] = {
    name: Method(name, _label(name), group)
    for group, names in (
        ("baseline", (*BASELINES, *MORE_BASELINES)),
        ("ablation", ABLATION),
        ("restored", RESTORED),
        ("further", FURTHER),
        ("control", CONTROLS),
    )
    for name in names
}
METHODS[HEATED_TO_OURS] = Method(HEATED_TO_OURS, "Uniform heating to ours' nominal ECE", "control")
METHODS |= {name: Method(name, _label(name), "labelled") for name in LABELLED}


def methods(own_scores: Iterable[str] = ()) -> dict[str, Method]:
    """All rows by name: ours, the registered ones, and the default method with each of the user's own scores of the tables."""
    further = (*OWN_ROWS, *(f"{DEFAULT_METHOD}{PLUS}{name}" for name in own_scores))
    return METHODS | {name: Method(name, make_calibrator(name).label, "own") for name in further}


_MATCHED = {HEATED_TO_OURS: OURS}  # control -> the method whose nominal error it gets


@dataclass(frozen=True)
class FittedMethods:
    """Calibrators of one split; a row that could not be fitted has a reason instead."""

    calibrators: dict[str, Calibrator]
    failed: dict[str, str]


def fit_methods(calibration: ScoreTable, pool: Pool, nominal: Condition, nominal_scores: Scores) -> FittedMethods:
    """Fit every row; the uniform controls get the nominal test error of the method they are compared with as a gift."""
    calibrators: dict[str, Calibrator] = {}
    failed: dict[str, str] = {}
    for name in methods(calibration.own_names.tolist()):
        if name in _MATCHED:
            continue
        try:
            calibrators[name] = make_calibrator(name).fit(calibration, pool)
        except AiccError as error:
            failed[name] = str(error)
    for name, target in _MATCHED.items():
        if target not in calibrators:
            failed[name] = f"{METHODS[target].label} could not be fitted"
            continue
        try:
            calibrators[name] = _heated(name, calibrators[target], calibration, nominal, nominal_scores)
        except AiccError as error:
            failed[name] = str(error)
    return FittedMethods(calibrators, failed)


def _heated(
    name: str, compared: Calibrator, calibration: ScoreTable, nominal: Condition, nominal_scores: Scores
) -> UniformHeating:
    def error(confidence: np.ndarray) -> float:
        return mean_ece(confidence, nominal.labels, nominal.horizons)

    heating = UniformHeating(name, METHODS[name].label).fit(calibration)
    return heating.heat_to(nominal.table, error(compared.predict(nominal.table, nominal_scores)), error)
