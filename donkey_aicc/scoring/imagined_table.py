"""What the `imagined` predictor says at the frames where the world model is rolled ahead: the second, smaller score file."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic
from donkey_aicc.scoring.score_table import ScoreTable


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
