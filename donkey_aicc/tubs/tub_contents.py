"""What both tub formats are read into, before images are opened or anything is judged.

And what a reader found out about a tub, in words for a person and with a code for a machine.
"""

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc import channels

NOTE = "note"  # worth knowing, nothing lost
LOSS = "loss"  # records, labels or values were dropped or changed
FATAL = "fatal"  # nothing can be used


@dataclass(frozen=True)
class Finding:
    """One observation; `count` says how many records, files or values it concerns."""

    level: str
    code: str
    message: str
    count: int = 1


def found(level: str, code: str, message: str, count: int = 1) -> list[Finding]:
    """A list with the finding, or an empty one if it concerns nothing: `findings += found(...)`."""
    return [Finding(level, code, message, int(count))] if count else []


IMAGE_TYPES = ("image_array", "image", "gray16_array")
LARGEST_INDEX = 2**53  # beyond it a number read as a float is no longer exact
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp")


@dataclass(frozen=True)
class Record:
    """One line of a catalog (v2) or one record_N.json (v1)."""

    index: int
    session: str  # '' if the tub has no sessions
    time_ms: float  # NaN if not recorded
    values: Mapping[str, Any]


@dataclass
class TubContents:
    """Records in order of their index, each index once."""

    path: Path
    format: str  # 'v1' or 'v2'
    image_dir: Path
    records: list[Record]
    deleted: set[int] = field(default_factory=set)
    declared: dict[str, str] = field(default_factory=dict)  # key -> type as the manifest promises
    metadata: dict[str, Any] = field(default_factory=dict)  # what the recorder noted about the whole tub
    findings: list[Finding] = field(default_factory=list)

    def image_paths(self) -> list[str | None]:
        """File of each record's camera image, None where the record names none.

        Strings, because making thousands of Path objects costs more than reading the catalogs.
        """
        key, folder = image_key(self.records, self.declared), str(self.image_dir)
        return [_image_path(folder, record.values.get(key)) for record in self.records]


def _image_path(folder: str, name: Any) -> str | None:
    if not isinstance(name, str) or not name.strip() or "\0" in name:  # no file system has such a name
        return None
    # Only the last part counts: tubs that were moved between machines may hold absolute or Windows paths.
    return os.path.join(folder, name.replace("\\", "/").rsplit("/", 1)[-1])


def image_key(records: list[Record], declared: Mapping[str, str]) -> str:
    """The key of the camera image: donkeycar's usual one, else another declared image, else a value that names a file."""
    if any(channels.IMAGE in record.values for record in records):
        return channels.IMAGE
    recorded: dict[str, Any] = {}
    for record in records:
        recorded.update(record.values)
    typed = [key for key, kind in declared.items() if kind in IMAGE_TYPES]
    named = [key for key, value in recorded.items() if isinstance(value, str) and value.lower().endswith(IMAGE_SUFFIXES)]
    candidates = [key for key in typed + named if key in recorded and key != channels.CLEAN_IMAGE]
    return candidates[0] if candidates else channels.IMAGE


def number(value: Any) -> float:
    """A recorded value as a float: numbers, booleans and numbers in quotes; anything else, and infinity, is NaN."""
    if isinstance(value, bool | int | float | str):
        try:
            parsed = float(value)
        except (ValueError, OverflowError):
            return math.nan
        return parsed if math.isfinite(parsed) else math.nan
    return math.nan


def numbers(records: list[Record], key: str) -> np.ndarray:
    """(N,) float64: `number` of one key in every record."""
    values = [record.values.get(key) for record in records]
    try:
        column = np.array(values, dtype=np.float64)  # takes None, booleans and numbers in quotes, too
    except (ValueError, TypeError, OverflowError):
        column = np.empty((0, 0))
    if column.ndim != 1:  # words, or lists where a number was expected
        return np.array([number(value) for value in values], dtype=np.float64)
    column[~np.isfinite(column)] = np.nan
    return column


def text(value: Any) -> str:
    """A recorded value as a string, '' for nothing."""
    return "" if value is None else str(value)


def texts(records: list[Record], key: str, longest: int | None = None) -> np.ndarray:
    """(N,) str: `text` of one key in every record."""
    return np.array([text(record.values.get(key))[:longest] for record in records], dtype=str)


def in_index_order(records: Iterable[Record]) -> tuple[list[Record], list[Finding]]:
    """Each index once, ascending. Of two records with one index the later stays: its image replaced the earlier one's."""
    kept: dict[int, Record] = {}
    repeated = conflicting = disorder = 0
    previous = -1
    for record in records:
        if record.index in kept:
            repeated += 1
            conflicting += repr(kept[record.index]) != repr(record)  # repr, because NaN differs from itself
        elif record.index < previous:
            disorder += 1
        previous = max(previous, record.index)
        kept[record.index] = record
    findings = found(NOTE, "repeated-record", f"{repeated - conflicting} records are stored twice", repeated - conflicting)
    findings += found(
        LOSS, "duplicate-index", f"{conflicting} indices are used by two different records; the later was kept", conflicting
    )
    findings += found(NOTE, "out-of-order", f"{disorder} records come after a record with a larger index; sorted", disorder)
    return [kept[index] for index in sorted(kept)], findings


def missing_indices(contents: TubContents) -> int:
    """How many indices between the first and the last record have neither a record nor a deletion mark."""
    if not contents.records:
        return 0
    present = {record.index for record in contents.records}
    first, last = contents.records[0].index, contents.records[-1].index
    deleted_only = sum(first <= index <= last and index not in present for index in contents.deleted)
    return last - first + 1 - len(present) - deleted_only
