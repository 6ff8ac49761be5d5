"""The score tables of one evaluation in a folder: calibration, augmented, test, ood_<protocol>; of one bundle."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_json
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.untrusted import read_untrusted_json

MARK = "scores.json"  # names the bundle that made the tables
NAMES = ("calibration", "augmented", "test")
OOD_PREFIX = "ood_"


@dataclass(frozen=True)
class ScoreFiles:
    """What `study.evaluate` takes."""

    calibration: ScoreTable
    augmented: ScoreTable
    test: ScoreTable
    ood: Mapping[str, ScoreTable]
    marked: bool  # the folder says which bundle made them


def write_mark(folder: str | Path, fingerprint: str) -> None:
    """Say which bundle the tables of this folder belong to."""
    write_json(Path(folder) / MARK, {"bundle": fingerprint})


def save_scores(
    folder: str | Path,
    fingerprint: str,
    *,
    calibration: ScoreTable,
    augmented: ScoreTable,
    test: ScoreTable,
    ood: Mapping[str, ScoreTable],
) -> None:
    """Write all tables as .npz with the mark of their bundle."""
    write_mark(folder, fingerprint)
    tables = {"calibration": calibration, "augmented": augmented, "test": test}
    for name, table in {**tables, **{f"{OOD_PREFIX}{protocol}": table for protocol, table in ood.items()}}.items():
        table.save(Path(folder) / f"{name}.npz")


def load_scores(folder: str | Path, fingerprint: str | None = None) -> ScoreFiles:
    """Read them; with a fingerprint, refuse tables that another bundle made."""
    folder = Path(folder)
    if not folder.is_dir():
        raise AiccError(f"no folder with score tables at {folder}")
    missing = [f"{name}.npz" for name in NAMES if not (folder / f"{name}.npz").is_file()]
    found = sorted(folder.glob(f"{OOD_PREFIX}*.npz"))
    if missing or not found:
        lacks = ", ".join(missing + ([] if found else [f"{OOD_PREFIX}<protocol>.npz"]))
        raise AiccError(f"{folder} lacks {lacks}; evaluate from tubs, which writes them")
    marked = check_mark(folder, fingerprint)
    tables = {name: ScoreTable.load(folder / f"{name}.npz") for name in NAMES}
    ood = {path.stem[len(OOD_PREFIX) :]: ScoreTable.load(path) for path in found}
    return ScoreFiles(**tables, ood=ood, marked=marked)


def check_mark(folder: Path, fingerprint: str | None) -> bool:
    """True if the folder names its bundle; AiccError if that is another one."""
    path = folder / MARK
    if not path.is_file():
        return False
    try:
        stored = read_untrusted_json(path)["bundle"]
    except (OSError, AiccError, KeyError, TypeError) as error:
        raise AiccError(f"{path} is damaged ({error!r}); remove {folder} and score again") from error
    if fingerprint is not None and stored != fingerprint:
        raise AiccError(f"mixed bundles: the score tables in {folder} were made with another bundle; score them again")
    return True
