"""A tub without a record: donkeycar makes one at every start, and cannot open it again. None is left or stands in the way."""

import atexit
import shutil
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.untrusted import MAX_JSON_BYTES, json_or_none, read_bounded

HINT = "Press Record, and set RECORD_DURING_AI = True to record what the pilot does"
_BEGUN = ("manifest.json", "catalog_0.catalog", "catalog_0.catalog_manifest", "drive.json", "images")


def is_empty(tub: Path) -> bool:
    """A tub that donkeycar has begun and never written to."""
    if not (tub / "manifest.json").is_file() or any(catalog.stat().st_size for catalog in tub.glob("*.catalog")):
        return False
    return not any((tub / "images").glob("*"))


def inputs_of(tub: Path) -> list[str] | None:
    """The channels that a tub was begun with; None where its manifest cannot be read."""
    try:
        stored = json_or_none(read_bounded(tub / "manifest.json", MAX_JSON_BYTES).split(b"\n")[0])
    except (AiccError, OSError):
        return None
    return stored if isinstance(stored, list) else None


def clear(tub: Path) -> None:
    """Take away what donkeycar began; a file of the user's stays, and the folder with it."""
    for name in _BEGUN:
        path = tub / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def leave_none(cfg: Any) -> None:
    """When the program ends: say that nothing was recorded, and leave no tub that cannot be opened."""
    data = Path(cfg.DATA_PATH)
    before = set(data.glob("*/manifest.json"))

    def tidy() -> None:
        begun = [data, *(manifest.parent for manifest in data.glob("*/manifest.json") if manifest not in before)]
        for tub in begun:
            if is_empty(tub):
                clear(tub)
                if tub != data and not any(tub.iterdir()):
                    tub.rmdir()
                print(f"Nothing was recorded, so no tub is left in {tub}. {HINT}")

    atexit.register(tidy)
