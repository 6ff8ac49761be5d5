"""What is evaluated: the nominal test frames and, for each protocol, the frames that were driven under it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from donkey_aicc.evaluation.cells import rounded
from donkey_aicc.scoring.score_table import ScoreTable

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
