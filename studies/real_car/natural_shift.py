"""How anomalous drives of another day, track or room are, and how far the confidence can be believed there.

A tub with labels is a protocol of its own: the one shift that no simulator gives.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.resampling import DriveDraws, DriveWins
from donkey_aicc.evaluation.score_quality import OOD_ROWS, ood_scores
from donkey_aicc.evaluation.tables import interval_cell, rounded
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import SCORE_NAMES, ScoreStatistics

DRAWS = 1000
ROWS = OOD_ROWS | {"delta_held_out": "delta, held-out scale", "control": "Control features, held-out scale"}
OWN_SCORES = ("log_rho", "delta_held_out", "control", "latent", "tta_spread")  # scaled on held-out drives; the paper's are not
METHODS = ("none", "temperature", "dac", "tta_rho_delta", "tta_log_rho", "tta_log_rho_delta", "base_rate")


def usable(table: ScoreTable) -> ScoreTable:
    return table.select(table.valid.astype(bool))


def told_apart(nominal: ScoreTable, odd: ScoreTable, statistics: ScoreStatistics, seed: int = 0) -> dict[str, Any]:
    """score -> AUROC of odd against nominal frames, with an interval over whole drives."""
    nominal, odd = usable(nominal), usable(odd)
    calm, strange = (_all_scores(table, statistics) for table in (nominal, odd))
    owners = [np.unique(table.sequence, return_inverse=True)[1] for table in (odd, nominal)]
    shape = (int(owners[0].max()) + 1, int(owners[1].max()) + 1)
    draws = DriveDraws.make(*shape, DRAWS, seed)
    found: dict[str, Any] = {}
    for name in ROWS:
        if not (np.isfinite(strange[name]).all() and np.isfinite(calm[name]).all()):
            found[name] = {"value": None, "low": None, "high": None, "reason": "not scored"}
            continue
        wins = DriveWins.count(strange[name], owners[0], calm[name], owners[1], shape)
        found[name] = {"value": rounded(wins.auroc()), **interval_cell(draws.auroc(wins), min(shape))}
    return found


def _all_scores(table: ScoreTable, statistics: ScoreStatistics) -> dict[str, np.ndarray]:
    unknown, normalised = np.full(len(table), np.nan), statistics.scores(table)
    further = {name: normalised.get(f"{name}_z", unknown) for name in ROWS if name not in OOD_ROWS}
    return ood_scores(table, statistics) | further


def by_severity(nominal: ScoreTable, table: ScoreTable, statistics: ScoreStatistics, name: str = "log_rho") -> dict[str, Any]:
    """severity -> AUROC of one score."""
    severities = np.unique(table.severity[table.severity > 0]).tolist()
    return {str(s): told_apart(nominal, table.select(table.severity == s), statistics)[name] for s in severities}


def at_maximum(table: ScoreTable, statistics: ScoreStatistics) -> dict[str, float]:
    """score -> share of frames on which it stands at its maximum of 1."""
    scores = statistics.scores(usable(table))
    top = {name: scores[name] >= 1.0 for name in SCORE_NAMES if name in scores}
    top["any of our own"] = np.any([top[name] for name in OWN_SCORES if name in top], axis=0)
    return {name: float(f"{there.mean():.4g}") for name, there in top.items()}


def sureness(table: ScoreTable, pool: Pool) -> dict[str, Any]:
    """method -> how sure it is there, fitted on the calibration drives of the study."""
    table = usable(table)
    scores = pool.statistics.scores(table)
    found: dict[str, Any] = {}
    for name in METHODS:
        try:
            confidence = make_calibrator(name).fit(pool.nominal, pool).predict(table, scores)
        except AiccError as error:
            found[name] = {"reason": str(error)}
            continue
        sure = float(np.maximum(confidence, 1.0 - confidence).mean())
        found[name] = {"mean_top_confidence": rounded(sure), "mean_confidence": rounded(float(confidence.mean()))}
    return found


def as_protocol(name: str, table: ScoreTable) -> dict[str, ScoreTable]:
    """What the evaluation takes beside the test protocols, or nothing if the tub has no labels."""
    if not np.isfinite(usable(table).labels).any():
        return {}
    rows = len(table)
    return {name: replace(table, protocol=np.full(rows, name), severity=np.ones(rows, dtype=table.severity.dtype))}


def describe_shift(nominal: ScoreTable, table: ScoreTable, pool: Pool, seed: int = 0) -> dict[str, Any]:
    good = usable(table)
    if not len(good):
        raise AiccError(f"none of its {len(table)} scored frames has a full context behind it")
    return {
        "drives": len(good.sequences()),
        "frames": len(good),
        "auroc": told_apart(nominal, table, pool.statistics, seed),
        "at_maximum": at_maximum(table, pool.statistics),
        "confidence": sureness(table, pool),
    }
