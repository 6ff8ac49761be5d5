"""What was settled before a drive under a test protocol was scored: hashes of code, world, pilot, models and severities."""

import datetime
import hashlib
from pathlib import Path
from typing import Any

import donkey_aicc
import studies
from donkey_aicc.files import read_json, sha256_of
from studies.layout import Layout

WORLD = ("simulator", "faults")  # packages that decide how a drive looks
METHOD = ("nets", "scoring", "calibration", "training", "evaluation", "tubs")


def freeze(about: dict[str, Any], layout: Layout, pilot: Path) -> dict[str, Any]:
    """A dated record; `code` has one hash per package, over names and contents of its Python files."""
    package = Path(donkey_aicc.__file__).parent
    return {
        "frozen_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "experiment": about,
        "version": donkey_aicc.__version__,
        "code": {name: code_hash(package / name) for name in (*WORLD, *METHOD)}
        | {"studies": code_hash(Path(studies.__file__).parent)},
        "pilot": _hashes(pilot),
        "bundle": _hashes(layout.bundle),
        "severities": read_json(layout.severities, "run the stage 'severities' again"),
    }


def code_hash(folder: Path) -> str:
    """Of all Python files below a folder."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _hashes(folder: Path) -> dict[str, str]:
    return {file.name: sha256_of(file) for file in sorted(folder.glob("*")) if file.suffix in (".safetensors", ".json")}
