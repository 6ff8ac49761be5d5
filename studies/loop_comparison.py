"""How the anomaly scores see the same dynamics faults in closed loop and in open loop.

Positives are the frames under the fault, negatives the nominal test frames. Both loops have the same drives and the same frames
of each, so differences are taken pair by pair; intervals come from drawing whole drives anew, faulty and nominal ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.resampling import DriveDraws, DriveWins
from donkey_aicc.evaluation.score_quality import OOD_ROWS, ood_scores
from donkey_aicc.evaluation.tables import interval_cell, rounded
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics
from studies.loop_conclusion import conclude

OPEN_LOOP = "open_loop"
LOOPS = {"closed": "closed loop", "open": "open loop"}
FAULT_LABELS = {"bias": "Bias", "latency": "Command delay"}
COMPARED_SCORES = ("rho", "rho_two_sided", "delta", "rho_delta")
POOLED = "all"
# Frames since the fault began; the scores look back over 100 frames.
AGES = {"1-50": (0, 50), "51-100": (50, 100), "101-": (100, 10**9)}


@dataclass(frozen=True)
class Loops:
    """Score tables of the drives without a fault, and of the faulty ones in each loop, row by row the same frames."""

    nominal: ScoreTable
    closed: ScoreTable
    open: ScoreTable

    def __post_init__(self) -> None:
        if not np.array_equal(self.closed.sequence, self.open.sequence) or not np.array_equal(self.closed.step, self.open.step):
            raise AiccError("closed and open loop must hold the same frames of the same drives; score both again")


@dataclass(frozen=True)
class _Side:
    """Frames under a fault in one loop; `unit` is the drive's number, which all faults share."""

    scores: dict[str, np.ndarray]
    features: np.ndarray  # (N, 12), in nominal standard deviations from the nominal mean
    abs_cte_m: np.ndarray
    unit: np.ndarray


def compare_loops(
    calibration: ScoreTable,
    test: ScoreTable,
    tables: Loops,
    frames: int,
    about: Mapping[str, Any],
    draws: int = 1000,
    seed: int = 0,
) -> dict[str, Any]:
    """Everything for open_loop.json; frames: planned length of each drive, a shorter one departed."""
    statistics = ScoreStatistics.fit(calibration)
    negatives = test.select(test.valid.astype(bool) & (test.protocol == ""))
    compared = _Comparison(statistics, negatives, tables, draws, seed)
    closed = tables.closed
    faults: dict[str, Any] = {}
    for fault in [name for name in FAULT_LABELS if name in closed.protocol]:
        rows = closed.protocol == fault
        severities = [int(severity) for severity in np.unique(closed.severity[rows])]
        masks = {str(severity): rows & (closed.severity == severity) for severity in severities} | {POOLED: rows}
        faults[fault] = {
            "label": FAULT_LABELS[fault],
            "severities": {name: compared.cell(mask) | _departures(closed, mask, frames) for name, mask in masks.items()},
            "ages": {name: compared.cell(rows & mask) for name, mask in _ages(closed).items() if (rows & mask).any()},
        }
    results = {
        "about": dict(about),
        "settings": {
            "scores": {name: OOD_ROWS[name] for name in COMPARED_SCORES},
            "drives": len(compared.units),
            "nominal_test_drives": len(negatives.sequences()),
            "nominal_test_frames": len(negatives),
            "draws": draws,
            "seed": seed,
        },
        "without_fault": compared.without_fault(),
        "faults": faults,
    }
    return results | {"conclusion": conclude(results)}


class _Comparison:
    def __init__(self, statistics: ScoreStatistics, negatives: ScoreTable, tables: Loops, draws: int, seed: int) -> None:
        self._statistics, self._tables = statistics, tables
        self._negatives = ood_scores(negatives, statistics)
        self._negative_unit, nominal_drives = _numbered(negatives.sequence)
        self.units = sorted(set(map(_drive_number, tables.nominal.sequences())))
        self._draws = DriveDraws.make(len(self.units), nominal_drives, draws, seed)

    def cell(self, mask: np.ndarray) -> dict[str, Any]:
        """Both loops on the frames picked by the mask, and their difference."""
        sides = {loop: self._side(getattr(self._tables, loop).select(mask)) for loop in LOOPS}
        wins = {loop: {name: self._wins(side, name) for name in COMPARED_SCORES} for loop, side in sides.items()}
        drives = len(np.unique(sides["closed"].unit))
        drawn = {loop: {name: self._draws.auroc(wins[loop][name]) for name in COMPARED_SCORES} for loop in LOOPS}
        found: dict[str, Any] = {"frames": int(mask.sum()), "drives": drives}
        for loop, side in sides.items():
            found[loop] = _described(side) | {
                "scores": {
                    name: {"mean": rounded(side.scores[name].mean()), "auroc": rounded(wins[loop][name].auroc())}
                    | interval_cell(drawn[loop][name], drives)
                    for name in COMPARED_SCORES
                }
            }
        found["closed_minus_open"] = {
            name: {"value": rounded(wins["closed"][name].auroc() - wins["open"][name].auroc())}
            | interval_cell(drawn["closed"][name] - drawn["open"][name], drives)
            for name in COMPARED_SCORES
        }
        found["delta_minus_rho"] = {
            loop: {"value": rounded(wins[loop]["delta"].auroc() - wins[loop]["rho"].auroc())}
            | interval_cell(drawn[loop]["delta"] - drawn[loop]["rho"], drives)
            for loop in LOOPS
        }
        return found

    def without_fault(self) -> dict[str, Any]:
        """The drives themselves, on the frames that a fault would have: where AUROC should be near a half."""
        table = self._tables.nominal
        onset = int(self._tables.closed.step[self._tables.closed.protocol != ""].min())
        side = self._side(table.select(table.step >= onset))
        wins = {name: self._wins(side, name) for name in COMPARED_SCORES}
        scores = {
            name: {"mean": rounded(side.scores[name].mean()), "auroc": rounded(wins[name].auroc())}
            | interval_cell(self._draws.auroc(wins[name]), len(self.units))
            for name in COMPARED_SCORES
        }
        return {"frames": len(side.unit)} | _described(side) | {"scores": scores}

    def _side(self, table: ScoreTable) -> _Side:
        dynamics = self._statistics.dynamics
        scores = ood_scores(table, self._statistics)
        unit = np.array([self.units.index(_drive_number(name)) for name in table.sequence], dtype=np.int64)
        return _Side(scores, (table.features - dynamics.mean) / dynamics.scale, np.abs(table.cte), unit)

    def _wins(self, side: _Side, name: str) -> DriveWins:
        return DriveWins.count(
            side.scores[name],
            side.unit,
            self._negatives[name],
            self._negative_unit,
            (self._draws.positive.shape[1], self._draws.negative.shape[1]),
        )


def _described(side: _Side) -> dict[str, Any]:
    shift = side.features.mean(axis=0)
    largest = int(np.argmax(np.abs(shift)))
    return {
        "mean_abs_cte_m": rounded(np.nanmean(side.abs_cte_m)),
        "feature_shift": {name: rounded(value) for name, value in zip(FEATURE_NAMES, shift, strict=True)},
        "most_shifted": FEATURE_NAMES[largest],
    }


def _departures(closed: ScoreTable, mask: np.ndarray, frames: int) -> dict[str, int]:
    ends = [int(closed.step[closed.sequence == name].max()) + 1 for name in np.unique(closed.sequence[mask])]
    return {"drives_recorded": len(ends), "departures": sum(end < frames for end in ends)}


def _ages(table: ScoreTable) -> dict[str, np.ndarray]:
    """Masks of the frames by their distance from the first faulty frame of their drive."""
    age = np.full(len(table), -1, dtype=np.int64)
    for name in table.sequences():
        rows = np.flatnonzero((table.sequence == name) & (table.protocol != ""))
        if len(rows):
            age[rows] = table.step[rows] - table.step[rows[0]]
    return {label: (age >= low) & (age < high) for label, (low, high) in AGES.items()}


def _drive_number(name: str) -> str:
    """`bias_s3_02` and `nominal_02` are drive 02."""
    return name.rsplit("_", 1)[1]


def _numbered(names: np.ndarray) -> tuple[np.ndarray, int]:
    found, number = np.unique(names, return_inverse=True)
    return number, len(found)
