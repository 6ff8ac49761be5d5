"""Does a score grow with the strength of the anomaly? The paper assumes it; here it is measured and failures are listed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.evaluation.cells import rounded
from donkey_aicc.evaluation.tables import Column, Row, Table, Value
from donkey_aicc.scoring.score_table import ScoreTable

MEASURED_SCORES = ("rho", "delta", "rho_two_sided", "latent")
TOLERANCE = 0.05  # in units of two nominal standard deviations; a smaller fall is called noise


def measure_monotonicity(
    nominal: ScoreTable, kinds: Mapping[str, ScoreTable], statistics: ScoreStatistics
) -> dict[str, dict[str, Any]]:
    """score -> kind -> mean unclipped score per severity (0 = nominal), Spearman's rank correlation, and the falls.

    nominal: valid nominal rows; kinds: protocol or D_aug family -> its valid rows.
    """
    calm = statistics.scores(nominal)
    found: dict[str, dict[str, Any]] = {name: {} for name in MEASURED_SCORES if f"{name}_z" in calm}
    for kind, table in kinds.items():
        odd = statistics.scores(table)
        severity = np.concatenate([np.zeros(len(nominal), dtype=np.int64), table.severity])
        for name in found:
            found[name][kind] = _one(severity, np.concatenate([calm[f"{name}_z"], odd[f"{name}_z"]]))
    return found


def _one(severity: np.ndarray, score: np.ndarray) -> dict[str, Any]:
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
