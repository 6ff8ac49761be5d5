"""Scores that need not be computed again: those of an earlier command, and those of a lower grade."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.calibration.calibrator_file import weights_fingerprint
from donkey_aicc.errors import AiccError, one_of
from donkey_aicc.scoring import parallel
from donkey_aicc.scoring.score_table import FEATURE_NAMES, ScoreTable
from donkey_aicc.scoring.settings import FULL, GRADES, HALF, LIGHT, ScoreSettings
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.frame_cache import default_cache_dir

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

CACHE_VERSION = 3  # raise when scoring changes
MOST_KEPT = 20  # tables; the oldest go
_COLUMNS = ("indices", "images", "actions", "safe", "cte", "protocol", "severity", "departed")


def score_once(
    bundle: "Bundle",
    sequences: Sequence[Drive],
    *,
    settings: ScoreSettings,
    workers: int = 1,
    title: str = "scoring",
    cache_dir: str | Path | None = None,
) -> ScoreTable:
    """`score_drives`, or its table of an earlier command that had the same weights, settings, frames, commands and labels."""
    folder = (Path(cache_dir) if cache_dir is not None else default_cache_dir()) / "scores"
    path = folder / f"{_key(bundle, sequences, settings)}.npz"
    if path.is_file():
        try:
            table = ScoreTable.load(path)
            print(f"{title}: the same bundle, settings and drives were scored before; taken from {folder}")
            return table
        except AiccError:
            path.unlink(missing_ok=True)  # damaged: computed again
    table = parallel.score_drives(bundle, sequences, settings=settings, workers=workers, title=title)
    try:
        table.save(path)
        for old in sorted(folder.glob("*.npz"), key=lambda each: each.stat().st_mtime)[:-MOST_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        pass  # a cache that cannot be written costs time, nothing else
    return table


def _key(bundle: "Bundle", sequences: Sequence[Drive], settings: ScoreSettings) -> str:
    facts = [CACHE_VERSION, weights_fingerprint(bundle), settings.to_json(), [drive.id for drive in sequences]]
    digest = hashlib.sha256(json.dumps(facts).encode())
    for drive in sequences:
        for name in _COLUMNS:
            digest.update(np.ascontiguousarray(getattr(drive, name)).tobytes())
    return digest.hexdigest()[:32]


_ROLLOUT = 3  # features of the look ahead, the first of FEATURE_NAMES


def table_at(table: ScoreTable, grade: str) -> ScoreTable:
    """table: scored at grade full. Grade light has constants for the features of the look ahead, as on the car."""
    one_of("grade", grade, GRADES)
    if grade == FULL:
        return table
    assert table.features.shape[1] == len(FEATURE_NAMES)
    ahead = table.half_rollout if grade == HALF else np.zeros((len(table), _ROLLOUT))
    features = np.concatenate([ahead, table.features[:, _ROLLOUT:]], axis=1)
    return replace(table, features=features, valid=table.valid.astype(bool) & np.isfinite(ahead).all(axis=1))


def grades_of(table: ScoreTable, grade: str = FULL) -> tuple[str, ...]:
    """The grades that can be fitted on a table that was scored at `grade`; a table without half rollouts lacks grade half."""
    if grade != FULL:
        return (grade,)
    return GRADES if np.isfinite(table.half_rollout).any() else (FULL, LIGHT)
