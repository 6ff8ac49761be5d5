"""Scores that need not be computed again, because an earlier command had the same bundle, settings and drives."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.scoring import parallel
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.frame_cache import default_cache_dir
from donkey_aicc.workers import Workers

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

CACHE_VERSION = 4  # raise when scoring changes
MOST_KEPT = 20  # tables; the oldest go
_COLUMNS = ("indices", "images", "actions", "safe", "cte", "protocol", "severity", "departed")


def score_once(
    bundle: "Bundle",
    sequences: Sequence[Drive],
    *,
    settings: ScoreSettings,
    workers: Workers = 1,
    title: str = "scoring",
    cache_dir: str | Path | None = None,
) -> ScoreTable:
    """`score_drives`, or its table of an earlier command that had the same weights, settings, frames, commands and labels."""
    if settings.own:  # nobody knows whether their code is the same
        return parallel.score_drives(bundle, sequences, settings=settings, workers=workers, title=title)
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
    facts = [CACHE_VERSION, bundle.manifest.fingerprint, settings.to_json(), [drive.id for drive in sequences]]
    digest = hashlib.sha256(json.dumps(facts).encode())
    for drive in sequences:
        for name in _COLUMNS:
            digest.update(np.ascontiguousarray(getattr(drive, name)).tobytes())
    return digest.hexdigest()[:32]
