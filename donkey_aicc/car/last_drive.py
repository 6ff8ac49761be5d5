"""What the last drive left: a tub that lost its power in the middle of a write is said, and donkeycar does not go on with it."""

from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.image_file import OK, decode_image_file
from donkey_aicc.untrusted import MAX_JSON_BYTES, json_or_none, read_bounded

_TAIL_BYTES = 1 << 16  # of a catalog: a record has about one thousand
_MANIFEST_LINES = 5


def damage(tub: Path) -> str:
    """What is wrong with the end of a tub, as far as a short look shows it; empty if nothing is."""
    try:
        lines = read_bounded(tub / "manifest.json", MAX_JSON_BYTES).splitlines()
        if len(lines) < _MANIFEST_LINES or any(json_or_none(line) is None for line in lines):
            return "its manifest is cut short"
        catalogs = sorted(tub.glob("catalog_*.catalog"), key=lambda path: (len(path.name), path.name))
        tail = _tail(catalogs[-1]) if catalogs else b""
        if not tail:
            return "its catalog is missing or empty" if any((tub / "images").glob("*")) else ""
        last = json_or_none(tail.rstrip(b"\n").split(b"\n")[-1])
        if not tail.endswith(b"\n") or not isinstance(last, dict):
            return "its last record is cut short"
        lengths = json_or_none(read_bounded(catalogs[-1].with_suffix(".catalog_manifest"), MAX_JSON_BYTES))
        if not isinstance(lengths, dict) or sum(lengths.get("line_lengths", ())) != catalogs[-1].stat().st_size:
            return "its catalog and the list of its lines do not agree"
        return _picture(tub, last)
    except (AiccError, OSError, TypeError) as error:
        return f"it cannot be read ({error})"


def _tail(path: Path) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read(_TAIL_BYTES)


def _picture(tub: Path, record: dict[str, Any]) -> str:
    name = record.get("cam/image_array")
    if not isinstance(name, str):
        return ""
    return "" if decode_image_file(tub / "images" / Path(name).name).status == OK else "its last picture is cut short"


def say_last_drive(data: Path) -> None:
    """Before a drive: one line about the newest tub, if its end is damaged. Its other records are as they were."""
    tubs = [manifest.parent for manifest in data.glob("*/manifest.json")]
    newest = max(tubs, key=lambda tub: (tub / "manifest.json").stat().st_mtime, default=None)
    found = damage(newest) if newest is not None else ""
    if found:
        print(f"The last drive, {newest}, did not end properly: {found}. See what is left: donkey-aicc check {newest}")
