"""What the `imagined` predictor says at the frames where the world model is rolled ahead, beside the direct one there."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.methods_and_conditions import Condition
from donkey_aicc.evaluation.metrics import Metric, auroc, ece_top_label, horizon_average, per_horizon
from donkey_aicc.evaluation.summary import FACT, Statement
from donkey_aicc.evaluation.tables import Cell, Row, Table, Value, cell, number_of
from donkey_aicc.files import write_atomic
from donkey_aicc.scoring.score_table import ScoreTable

IMAGINED = "imagined"  # the score file, the section of results.json and the predictor
PREDICTORS = {IMAGINED: "Imagined frame, classified", "direct": "Direct, the same frames"}
_METRICS: dict[str, Metric] = {"auroc": auroc, "ece": ece_top_label}


@dataclass(frozen=True)
class ImaginedTable:
    """N rows, K horizons. A row belongs to the row of a score table with the same sequence and step."""

    horizons: np.ndarray  # (K,) int64
    sequence: np.ndarray  # (N,) str
    step: np.ndarray  # (N,) int64: position in the sequence, 0 first
    p: np.ndarray  # (N, K) probability of safe

    def __post_init__(self) -> None:
        shape = (len(self.sequence), len(self.horizons))
        if len(self.step) != len(self.sequence) or self.p.shape != shape:
            raise AiccError(f"imagined predictions must have shape {shape}, got {self.p.shape} and {len(self.step)} steps")

    def __len__(self) -> int:
        return len(self.sequence)

    def save(self, path: str | Path) -> None:
        """Write .npz."""
        packed = io.BytesIO()
        np.savez_compressed(packed, **{column.name: getattr(self, column.name) for column in fields(self)})
        write_atomic(path, packed.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "ImaginedTable":
        """Read what `save` wrote; nothing in the file is executed."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                return cls(**{column.name: stored[column.name] for column in fields(cls)})
        except AiccError:
            raise
        except Exception as error:
            raise AiccError(f"{path} is not a readable file of imagined predictions: {error}") from error

    def on(self, table: ScoreTable) -> tuple[ScoreTable, np.ndarray]:
        """The rows of `table` that have an imagined prediction, and these predictions (n, K) in the same order."""
        if not np.array_equal(self.horizons, table.horizons):
            ours, theirs = self.horizons.tolist(), table.horizons.tolist()
            raise AiccError(f"mixed bundles: imagined predictions have horizons {ours}, the score table {theirs}")
        row_of = {key: row for row, key in enumerate(zip(self.sequence.tolist(), self.step.tolist(), strict=True))}
        found = [row_of.get(key, -1) for key in zip(table.sequence.tolist(), table.step.tolist(), strict=True)]
        rows = np.array(found, dtype=np.int64)
        return table.select(rows >= 0), self.p[rows[rows >= 0]]


def concatenate_imagined(tables: Sequence[ImaginedTable]) -> ImaginedTable:
    """Stack tables of one bundle."""
    if not tables:
        raise AiccError("no imagined predictions to put together")
    columns = {name: np.concatenate([getattr(table, name) for table in tables]) for name in ("sequence", "step", "p")}
    return ImaginedTable(horizons=tables[0].horizons, **columns)


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


def with_imagined_rows(table: Table, imagined: dict[str, Any]) -> Table:
    """The table of the base predictor with both predictors on the same frames below; as it was if nothing was imagined."""
    if not imagined:
        return table
    horizons = [column.key.removeprefix("k_") for column in table.columns if column.key.startswith("k_") and not column.paper]
    rows = [replace(row, group="Direct, all frames") for row in table.rows]
    for predictor, group in PREDICTORS.items():
        for condition, one in imagined.items():
            values = {f"k_{key}": Value.of(one[predictor]["auroc"][key]) for key in horizons}
            values["ece"] = Value.of(one[predictor]["ece"]["mean"])
            rows.append(Row(condition.capitalize(), values, group))
    note = (
        " Imagined: the world model is rolled k steps ahead with the last command held, and the predictor looks at the "
        f"decoded frame; at the frames of the rollouts only ({sum(one['frames'] for one in imagined.values())} in all)."
    )
    return replace(table, rows=rows, note=table.note + note)


def said_of_imagined(imagined: dict[str, Any]) -> Statement | None:
    """One sentence for the summary; None where a number is missing."""
    pairs = {name: [number_of(one[kind]["auroc"]["mean"]) for kind in PREDICTORS] for name, one in imagined.items()}
    nominal, odd = pairs.pop("nominal", [None]), list(pairs.values())
    if not odd or None in nominal or any(None in pair for pair in odd):
        return None
    under = np.mean(np.array(odd, dtype=np.float64), axis=0)
    text = (
        f"Classifying frames that the world model imagines has AUROC {nominal[0]:.3f} on nominal drives and {under[0]:.3f} "
        f"under the protocols; the direct predictor has {nominal[1]:.3f} and {under[1]:.3f} on the same frames."
    )
    return {"verdict": FACT, "text": text}
