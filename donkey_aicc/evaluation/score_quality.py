"""How good the scores are, before any calibrator makes something of them.

How well each tells nominal frames from anomalous ones (paper, Section V-B, Q1). Whether it grows with the strength of the
anomaly: the paper assumes it; here it is measured and failures are listed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from donkey_aicc.evaluation.metrics import Measured, auroc
from donkey_aicc.evaluation.resampling import DriveDraws, DriveWins
from donkey_aicc.evaluation.tables import Column, Row, Table, Value, interval_cell, rounded
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics

FUSED = "rho_delta"  # the paper's score, with which the others are compared
OOD_ROWS = {
    "msp": "MSP",
    "entropy": "Entropy",
    "mc_dropout": "MC dropout",
    "feature_norm": "Feature norm",
    "rho": "rho",
    "delta": "delta",
    "rho_delta": "rho + delta",
    "rho_two_sided": "|rho|",
    "log_rho": "log rho, two-sided",
    "latent": "Latent distance",
    "density": "Feature density",
    "tta_spread": "TTA spread",
}


def ood_scores(table: ScoreTable, statistics: ScoreStatistics) -> dict[str, np.ndarray]:
    """name -> (N,), larger = more anomalous. Predictions are averaged over horizons; anomaly scores are unclipped.

    A small feature norm counts as anomalous, as in the method's own paper. Unknown columns give NaN.
    """
    p = np.clip(table.p_safe.astype(np.float64), 1e-12, 1.0 - 1e-12)
    entropy = -(p * np.log(p) + (1.0 - p) * np.log1p(-p))
    normalised = statistics.scores(table)
    unknown = np.full(len(table), np.nan)
    found = {
        "msp": -np.maximum(p, 1.0 - p).mean(axis=1),
        "entropy": entropy.mean(axis=1),
        "mc_dropout": table.mc_dropout.mean(axis=1),
        "feature_norm": -np.linalg.norm(table.cnn_features.astype(np.float64), axis=1),
        "rho_delta": (normalised["rho_z"] + normalised["delta_z"]) / 2.0,
    }
    for name in ("rho", "delta", "rho_two_sided", "log_rho", "latent", "density", "tta_spread"):
        found[name] = normalised.get(f"{name}_z", unknown)
    return {name: found[name] for name in OOD_ROWS}


def ood_auroc(nominal: ScoreTable, anomalous: ScoreTable, statistics: ScoreStatistics) -> dict[str, Measured]:
    """AUROC of every row of OOD_ROWS on the valid frames; anomalous is the positive class."""
    nominal, anomalous = (table.select(table.valid.astype(bool)) for table in (nominal, anomalous))
    y = np.concatenate([np.zeros(len(nominal)), np.ones(len(anomalous))])
    of_nominal, of_anomalous = ood_scores(nominal, statistics), ood_scores(anomalous, statistics)
    return {name: auroc(np.concatenate([of_nominal[name], of_anomalous[name]]), y) for name in OOD_ROWS}


def ood_intervals(
    nominal: ScoreTable, faulty: Mapping[str, ScoreTable], statistics: ScoreStatistics, draws: int, seed: int
) -> dict[str, dict[str, Any]]:
    """row -> protocol and `ood_mean` -> 95 % bounds of the AUROC when whole drives are drawn anew; valid frames only.

    `ood_mean_below_fused`: by how much the row lies below rho + delta on the same drawn drives.
    """
    of_nominal, nominal_drive = ood_scores(nominal, statistics), np.unique(nominal.sequence, return_inverse=True)[1]
    drawn: dict[str, dict[str, np.ndarray]] = {row: {} for row in OOD_ROWS}
    fewest = len(np.unique(nominal.sequence))
    for number, (protocol, table) in enumerate(faulty.items()):
        scores, drive = ood_scores(table, statistics), np.unique(table.sequence, return_inverse=True)[1]
        shape = (int(drive.max(initial=-1)) + 1, int(nominal_drive.max(initial=-1)) + 1)
        fewest = min(fewest, shape[0])
        chosen = DriveDraws.make(*shape, draws, seed + number)
        for row in OOD_ROWS:
            if np.isfinite(scores[row]).all() and np.isfinite(of_nominal[row]).all():
                drawn[row][protocol] = chosen.auroc(DriveWins.count(scores[row], drive, of_nominal[row], nominal_drive, shape))
    found: dict[str, dict[str, Any]] = {}
    for row, by_protocol in drawn.items():
        found[row] = {protocol: interval_cell(values, fewest) for protocol, values in by_protocol.items()}
        if len(by_protocol) == len(faulty) and faulty:
            mean = np.mean(list(by_protocol.values()), axis=0)
            found[row]["ood_mean"] = interval_cell(mean, fewest)
            if len(drawn[FUSED]) == len(faulty):
                fused = np.mean(list(drawn[FUSED].values()), axis=0)
                found[row]["ood_mean_below_fused"] = interval_cell(fused - mean, fewest)
    return found


MEASURED_SCORES = ("rho", "delta", "rho_two_sided", "latent")
TOLERANCE = 0.05  # in units of two nominal standard deviations; a smaller fall is called noise


def measure_monotonicity(
    nominal: ScoreTable, kinds: Mapping[str, ScoreTable], statistics: ScoreStatistics
) -> dict[str, dict[str, Any]]:
    """score -> kind -> mean unclipped score per severity (0 = nominal), Spearman's rank correlation, and the falls.

    nominal: valid nominal rows; kinds: protocol or D_aug family -> its valid rows.
    """
    of_nominal = statistics.scores(nominal)
    found: dict[str, dict[str, Any]] = {name: {} for name in MEASURED_SCORES if f"{name}_z" in of_nominal}
    for kind, table in kinds.items():
        of_kind = statistics.scores(table)
        severity = np.concatenate([np.zeros(len(nominal), dtype=np.int64), table.severity])
        for name in found:
            found[name][kind] = _monotonicity_of(severity, np.concatenate([of_nominal[f"{name}_z"], of_kind[f"{name}_z"]]))
    return found


def _monotonicity_of(severity: np.ndarray, score: np.ndarray) -> dict[str, Any]:
    levels = np.unique(severity)
    means = {int(level): float(score[severity == level].mean()) for level in levels}
    steps = zip(levels[:-1].tolist(), levels[1:].tolist(), strict=True)
    falls = [
        {"from": low, "to": high, "by": rounded(means[low] - means[high])}
        for low, high in steps
        if means[high] < means[low] - TOLERANCE
    ]
    correlation = float(spearmanr(severity, score).statistic) if len(levels) > 1 and np.ptp(score) > 0 else float("nan")
    return {
        "mean_by_severity": {str(level): rounded(mean) for level, mean in means.items()},
        "spearman": rounded(correlation),
        "falls": falls,
        "below_nominal": bool(len(levels) > 1 and means[int(levels[-1])] < means[int(levels[0])] - TOLERANCE),
    }


def monotonicity_table(results: dict[str, Any], part: str) -> Table:
    """Mean score per severity."""
    stored = results["monotonicity"][part]
    levels = sorted({level for kinds in stored.values() for one in kinds.values() for level in one["mean_by_severity"]}, key=int)
    columns = [Column(f"severity_{level}", "nominal" if level == "0" else level, 2) for level in levels]
    columns += [Column("spearman", "Spearman", 2), Column("falls", "Falls", text=True)]
    rows = []
    for score, kinds in stored.items():
        for kind, one in kinds.items():
            values = {f"severity_{level}": Value(mean) for level, mean in one["mean_by_severity"].items()}
            falls = ", ".join(f"{fall['from']}→{fall['to']} by {fall['by']:.2f}" for fall in one["falls"])
            values |= {"spearman": Value(one["spearman"]), "falls": Value(text=falls or "–")}
            rows.append(Row(kind, values, score, strong=one["below_nominal"]))
    title = (
        "Do the scores grow with severity? Test protocols"
        if part == "protocols"
        else "Do the scores grow with severity? D_aug families"
    )
    note = (
        "Mean unclipped score; 1 is two nominal standard deviations above the nominal mean. Falls of less than "
        "0.05 are not listed. "
        "Bold: at full severity the score lies below its nominal mean."
    )
    return Table(f"monotonicity_{part}", title, columns, rows, note, first="Protocol" if part == "protocols" else "Family")
