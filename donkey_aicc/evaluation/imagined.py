"""The `imagined` predictor beside the direct one, on the very same frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from donkey_aicc.evaluation.cells import Cell, cell
from donkey_aicc.evaluation.conditions import Condition
from donkey_aicc.evaluation.horizons import Metric, horizon_average, per_horizon
from donkey_aicc.evaluation.metrics import auroc, ece_top_label
from donkey_aicc.scoring.imagined_table import ImaginedTable

PREDICTORS = {"imagined": "Imagined frame, classified", "direct": "Direct, the same frames"}
_METRICS: dict[str, Metric] = {"auroc": auroc, "ece": ece_top_label}


def compare_imagined(imagined: ImaginedTable, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Condition -> frames, and predictor -> metric -> every horizon and their average. Nothing is calibrated."""
    found: dict[str, Any] = {}
    for condition in conditions:
        table, p = imagined.on(condition.table)
        both = {"imagined": p, "direct": table.p_safe}
        found[condition.name] = {"frames": len(table)} | {
            name: _metrics(both[name], table.labels, table.horizons) for name in both
        }
    return found


def _metrics(p: np.ndarray, labels: np.ndarray, horizons: np.ndarray) -> dict[str, dict[str, Cell]]:
    found = {}
    for name, metric in _METRICS.items():
        values = per_horizon(metric, p, labels)
        row = {str(int(k)): cell(value) for k, value in zip(horizons, values, strict=True)}
        found[name] = row | {"mean": cell(horizon_average(values, horizons))}
    return found
