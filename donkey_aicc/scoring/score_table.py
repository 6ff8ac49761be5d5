"""The table between scoring and everything after it: one row per camera frame, one array per column.

Scoring writes it; calibrators and the evaluation only read it, so they need neither nets nor tubs.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_atomic
from donkey_aicc.scoring.frame_stats import FRAME_STATS

HORIZONS = (1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)

FEATURE_NAMES = (
    "rollout_mean",
    "rollout_max",
    "rollout_volatility",
    "longest_hold",
    "longest_hold_turning",
    "held_fraction_turning",
    "reversal_rate",
    "jerk",
    "mean_steering",
    "xcorr_peak",
    "hf_ratio",
    "response_lag",
)


_LATER_COLUMNS = {"frame_stats": len(FRAME_STATS), "actions": 2, "departed": 0, "half_rollout": 3}
_LATER_COLUMNS |= {"restored": 0, "hindsight": 0}
_OF_ALL_ROWS = ("horizons", "own_names")  # no columns
_PER_HORIZON = ("p_safe", "p_tta", "tta_spread", "p_restored", "mc_dropout", "labels")
_KINDS = {"sequence": "U", "protocol": "U", "index": "iu", "step": "iu", "severity": "iu", "valid": "b"}  # the others: numbers
LEAST_UNPACKED, MOST_TIMES = 256 << 20, 50  # bytes that any file may unpack to, and how often its own size


def _unknown() -> np.ndarray:
    return np.array(np.nan)


@dataclass(frozen=True)
class ScoreTable:
    """N frames, K horizons. Unknown numbers are NaN; `labels` is NaN where frame i has no i+k in its sequence."""

    horizons: np.ndarray  # (K,) int64
    sequence: np.ndarray  # (N,) str: id of the sequence the frame belongs to
    index: np.ndarray  # (N,) int64: record index in the tub
    step: np.ndarray  # (N,) int64: position in the sequence, 0 first
    p_safe: np.ndarray  # (N, K) raw probability of the safety predictor
    p_tta: np.ndarray  # (N, K) mean probability over the TTA views
    tta_spread: np.ndarray  # (N, K) standard deviation of the probability over the TTA views
    rho_raw: np.ndarray  # (N,) mean reconstruction MSE over the context
    features: np.ndarray  # (N, 12) in the order of FEATURE_NAMES
    latent: np.ndarray  # (N, L) low-dimensional latent mean over the context, for the latent distance
    cnn_features: np.ndarray  # (N, 128) of the safety predictor
    mc_dropout: np.ndarray  # (N, K) std of the predictor's probability over its own dropout samples
    valid: np.ndarray  # (N,) bool: the context was full
    labels: np.ndarray  # (N, K) 1 safe, 0 unsafe, NaN no label
    cte: np.ndarray  # (N,) metres, NaN unknown
    protocol: np.ndarray  # (N,) str: '' nominal, else dark, blur, bias, latency or a D_aug family
    severity: np.ndarray  # (N,) int64, 0 nominal
    p_restored: np.ndarray = field(
        default_factory=_unknown
    )  # (N, K) p_tta, or what the restored picture says where that is better
    restored: np.ndarray = field(default_factory=_unknown)  # (N,) share of the restored picture's views in p_restored
    hindsight: np.ndarray = field(default_factory=_unknown)  # (N,) surprise of the predictor by what it foresaw itself
    # What the alarm needs besides; unknown (NaN) in tables of versions that had no alarm.
    frame_stats: np.ndarray = field(default_factory=_unknown)  # (N, 8) of the frame alone, in the order of FRAME_STATS
    actions: np.ndarray = field(default_factory=_unknown)  # (N, 2) steering and throttle as sent
    departed: np.ndarray = field(default_factory=_unknown)  # (N,) 1 out of the lane, 0 in it, NaN unknown
    half_rollout: np.ndarray = field(default_factory=_unknown)  # (N, 3) the rollout features of grade half, if this is grade full
    own: np.ndarray = field(default_factory=_unknown)  # (N, O) raw anomaly scores of the user's own (`own_scores.py`)
    own_names: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=str))  # (O,) str

    def __post_init__(self) -> None:
        rows = len(self.sequence)
        if self.p_restored.ndim == 0:  # nothing was restored
            object.__setattr__(self, "p_restored", self.p_tta)
        if self.own.ndim == 0:
            object.__setattr__(self, "own", np.zeros((rows, 0)))
        for name, width in _LATER_COLUMNS.items():
            if getattr(self, name).ndim == 0:
                object.__setattr__(self, name, np.full((rows, width) if width else rows, np.nan, dtype=np.float32))
        for column in fields(self):
            values = getattr(self, column.name)
            if column.name not in _OF_ALL_ROWS and len(values) != rows:
                raise AiccError(f"score table column {column.name} has {len(values)} rows, expected {rows}")

    def __len__(self) -> int:
        return len(self.sequence)

    def select(self, rows: np.ndarray) -> "ScoreTable":
        """The rows picked by a boolean mask or an index array."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})

    def sequences(self) -> list[str]:
        """Sequence ids in order of first appearance."""
        return list(dict.fromkeys(self.sequence.tolist()))

    def of_sequences(self, ids: Iterable[str]) -> "ScoreTable":
        """The rows of the named sequences."""
        return self.select(np.isin(self.sequence, list(ids)))

    def save(self, path: str | Path, extra: Mapping[str, np.ndarray] | None = None) -> None:
        """Write .npz. `extra` columns (N,) are for other readers: `load` passes over them."""
        path = Path(path)
        check_score_path(path)
        columns = {name: getattr(self, name) for name in COLUMNS} | dict(extra or {})
        for name, values in columns.items():
            if len(values) != len(self):
                raise AiccError(f"score table column {name} has {len(values)} rows, expected {len(self)}")
        packed = io.BytesIO()  # in memory: on a full disk the zip writer would also complain at its own end
        np.savez_compressed(packed, horizons=self.horizons, own_names=self.own_names, **columns)
        write_atomic(path, packed.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "ScoreTable":
        """Read what `save` wrote; nothing in the file is executed."""
        path = Path(path)
        try:
            most = max(LEAST_UNPACKED, MOST_TIMES * path.stat().st_size)
            with np.load(path, allow_pickle=False) as stored:
                unpacked = sum(entry.file_size for entry in stored.zip.infolist())
                if unpacked > most:
                    raise ValueError(f"it would unpack to {unpacked} bytes, while {most} are the most")
                may_lack = (*_LATER_COLUMNS, "p_restored", "own", "own_names")
                known = [name for name in (*_OF_ALL_ROWS, *COLUMNS) if name in stored or name not in may_lack]
                return _checked(cls(**{name: stored[name] for name in known}), path)
        except AiccError:
            raise
        except FileNotFoundError:
            raise AiccError(f"no score file at {path}; make one with: donkey-aicc score TUB --bundle B --out {path}") from None
        except Exception as error:
            raise AiccError(f"{path} is not a readable score file: {error}") from error


COLUMNS = tuple(column.name for column in fields(ScoreTable) if column.name not in _OF_ALL_ROWS)


def _checked(table: ScoreTable, path: Path) -> ScoreTable:
    """Refuse what would be no score: wrong kinds and shapes, infinities, probabilities and labels outside of their range."""
    if table.horizons.ndim != 1 or table.horizons.dtype.kind not in "iu":
        raise AiccError(f"{path}: horizons must be a list of whole numbers")
    if table.own_names.ndim != 1 or table.own_names.dtype.kind != "U":
        raise AiccError(f"{path}: own_names must be a list of names")
    widths = {**dict.fromkeys(_PER_HORIZON, len(table.horizons)), **_LATER_COLUMNS, "features": len(FEATURE_NAMES)}
    free = ("latent", "cnn_features")  # and `own`, which has a column for each of its names
    for name in COLUMNS:
        values = getattr(table, name)
        if values.dtype.kind not in _KINDS.get(name, "f"):
            raise AiccError(f"{path}: {name} must not be of type {values.dtype}")
        width = values.shape[-1] if name in free else widths.get(name, 0)
        width = len(table.own_names) if name == "own" else width
        wanted = (len(table), width) if name in (*free, "own") or width else (len(table),)
        if values.shape != wanted:
            raise AiccError(f"{path}: {name} must have the shape {wanted}, got {values.shape}")
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise AiccError(f"{path}: {name} must hold finite numbers or NaN, got an infinite one")
    for name in ("p_safe", "p_tta", "p_restored", "labels", "departed", "restored"):
        values = getattr(table, name)
        if (values < 0).any() or (values > 1).any():
            raise AiccError(f"{path}: {name} must be from 0 to 1, got {np.nanmin(values):g} to {np.nanmax(values):g}")
    return table


def check_score_path(path: str | Path) -> None:
    """Raise unless a table can be written there: to be asked before hours of scoring, not after."""
    if Path(path).suffix != ".npz":
        raise AiccError(f"score file must end in .npz, got {path}")


def concatenate(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Stack tables that share their horizons."""
    if not tables:
        raise AiccError("no score tables to put together")
    for table in tables:
        if not np.array_equal(table.horizons, tables[0].horizons):
            raise AiccError(f"score tables have different horizons: {tables[0].horizons.tolist()} and {table.horizons.tolist()}")
        if not np.array_equal(table.own_names, tables[0].own_names):
            names = [each.own_names.tolist() for each in (tables[0], table)]
            raise AiccError(f"score tables have different scores of the user's own: {names[0]} and {names[1]}")
    stacked: Mapping[str, Any] = {name: np.concatenate([getattr(table, name) for table in tables]) for name in COLUMNS}
    return ScoreTable(horizons=tables[0].horizons, own_names=tables[0].own_names, **stacked)
