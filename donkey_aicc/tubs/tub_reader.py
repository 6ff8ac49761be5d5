"""Reads a version 2 tub (manifest.json, *.catalog, images/) without donkeycar's Manifest.

Donkeycar's own class opens files for writing, trusts line lengths and stops at the first damage; this reader only
reads, takes every record it can parse and says what it could not.
"""

import os
import statistics
from itertools import chain
from pathlib import Path
from typing import Any

from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.tubs.tub_contents import (
    LARGEST_INDEX,
    LOSS,
    NOTE,
    Finding,
    Record,
    TubContents,
    found,
    in_index_order,
    missing_indices,
    number,
    text,
)
from donkey_aicc.untrusted import MAX_JSON_BYTES, json_or_none, read_bounded

MANIFEST = "manifest.json"


def is_v2_tub(path: Path) -> bool:
    """Has catalogs, or a manifest that begins with donkeycar's list of inputs (a model bundle has a manifest.json, too)."""
    if _catalogs_present(path):
        return True
    try:
        return read_bounded(path / MANIFEST, MAX_JSON_BYTES).lstrip().startswith(b"[")
    except (OSError, AiccError):
        return False


def read_v2_tub(path: Path, listed_only: bool = False) -> TubContents:
    """All records that can be parsed, from every catalog that exists, or only from those that the manifest lists."""
    if (path / "images").is_symlink():
        raise AiccError(f"{path / 'images'} must be a folder of the tub, got a link to another place")
    manifest = _Manifest(path)
    names, unlisted, findings = _catalogs_to_read(path, manifest)
    records: list[Record] = []
    strangers: list[Record] = []
    for name in names:
        from_catalog, problems = _read_catalog(path / name)
        strangers += from_catalog if name in unlisted else []
        records += [] if listed_only and name in unlisted else from_catalog
        findings += problems
    ordered, problems = in_index_order(records)
    findings += _about_unlisted(unlisted, strangers, ordered, listed_only)
    contents = TubContents(
        path=path,
        format="v2",
        image_dir=path / "images",
        records=ordered,
        deleted=manifest.deleted,
        declared=manifest.declared,
        metadata=manifest.metadata,
        findings=manifest.findings + findings + problems,
    )
    contents.findings += _compare_with_manifest(contents, manifest, {record.index for record in strangers})
    return contents


class _Manifest:
    """The five JSON lines of manifest.json, each read by itself, because a crash may have cut any of them."""

    def __init__(self, path: Path) -> None:
        self.findings: list[Finding] = []
        self.declared: dict[str, str] = {}
        self.metadata: dict[str, Any] = {}
        self.deleted: set[int] = set()
        self.catalogs: list[str] | None = None
        self.current_index: int | None = None
        lists, objects, damaged = self._lines(path)
        if len(lists) >= 2:
            self.declared = {str(key): str(kind) for key, kind in zip(lists[0], lists[1], strict=False)}
        for entry in objects:
            if isinstance(entry.get("paths"), list):
                self._catalog_line(entry)
            elif not self.metadata and "sessions" not in entry:
                self.metadata = entry
        if self.catalogs is None or damaged:
            lost = "" if self.catalogs is not None else "; which records were deleted is unknown, all catalogs are read"
            self.findings += found(LOSS, "manifest-damaged", f"{MANIFEST} is missing or damaged{lost}")

    def _lines(self, path: Path) -> tuple[list[list[Any]], list[dict[str, Any]], bool]:
        try:
            lines = read_bounded(path / MANIFEST, MAX_JSON_BYTES).decode("utf-8", "replace").splitlines()
        except (OSError, AiccError):
            return [], [], True
        lists, objects, damaged = [], [], False
        for line in filter(str.strip, lines):
            value = json_or_none(line)
            if isinstance(value, list):
                lists.append(value)
            elif isinstance(value, dict):
                objects.append(value)
            damaged |= value is None
        return lists, objects, damaged

    def _catalog_line(self, entry: dict[str, Any]) -> None:
        self.catalogs = [os.path.basename(str(name)) for name in entry["paths"]]
        marks = entry.get("deleted_indexes")
        positions = [number(index) for index in marks] if isinstance(marks, list) else []
        self.deleted = {int(position) for position in positions if 0 <= position < LARGEST_INDEX}
        current = number(entry.get("current_index"))
        self.current_index = int(current) if current >= 0 else None


def _catalogs_present(path: Path) -> list[str]:
    try:
        names = [entry.name for entry in path.iterdir() if entry.suffix == ".catalog"]
    except OSError:
        return []
    return sorted((name for name in names if not name.startswith(".")), key=_catalog_number)


def _catalog_number(name: str) -> tuple[int, str]:
    digits = "".join(filter("0123456789".__contains__, name))[:18]
    return (int(digits) if digits else -1), name


def _catalogs_to_read(path: Path, manifest: _Manifest) -> tuple[list[str], list[str], list[Finding]]:
    """Names in order, those of them that the manifest does not list, and what else differs between its list and the folder."""
    present = _catalogs_present(path)
    listed = manifest.catalogs if manifest.catalogs is not None else present
    absent = sorted(set(listed) - set(present))
    unlisted = sorted(set(present) - set(listed))
    stray = [entry.name for entry in path.iterdir() if entry.name.startswith(".") and entry.suffix == ".catalog"]
    findings = found(LOSS, "catalog-missing", f"listed in {MANIFEST} but absent: {_some(absent)}", len(absent))
    findings += found(NOTE, "stray-file", f"ignored hidden files: {_some(sorted(stray))}", len(stray))
    return sorted(present, key=_catalog_number), unlisted, findings


def _about_unlisted(unlisted: list[str], strangers: list[Record], kept: list[Record], listed_only: bool) -> list[Finding]:
    """What is in catalogs that the manifest does not list: usually an earlier recording, with its list of deletions lost."""
    if not unlisted:
        return []
    own = {id(record) for record in strangers}
    count = len(strangers) if listed_only else sum(id(record) in own for record in kept)
    what = f"{count} records in {len(unlisted)} catalogs that {MANIFEST} does not list ({_some(unlisted)})"
    hours = [_usual_time([each.time_ms for each in some]) for some in (strangers, [r for r in kept if id(r) not in own])]
    apart = (hours[0] - hours[1]) / 3.6e6
    when = (
        "" if not abs(apart) >= 0.05 else f", recorded {abs(apart):.1f} h {'earlier' if apart < 0 else 'later'} than the others"
    )
    said = "left out" if listed_only else "read anyway, though which of them were deleted is lost; --listed-only leaves them out"
    return [Finding(NOTE if listed_only else LOSS, "catalog-unlisted", f"{what}{when}: {said}", count)]


def _read_catalog(path: Path) -> tuple[list[Record], list[Finding]]:
    try:
        lines = read_bounded(path, MAX_JSON_BYTES).split(b"\n")
    except (OSError, AiccError) as error:
        return [], found(LOSS, "catalog-unreadable", f"{path.name} cannot be read: {getattr(error, 'strerror', error)}")
    records, bad = [], []
    for row, line in enumerate(lines, start=1):
        if line.strip():
            record = _parse(line)
            if record is None:
                bad.append(row)
            else:
                records.append(record)
    findings = found(LOSS, "record-unreadable", f"{path.name}: {len(bad)} lines are damaged (lines {_some(bad)})", len(bad))
    return records, findings + _check_line_lengths(path, lines)


def _parse(line: bytes) -> Record | None:
    values = json_or_none(line)  # also takes NaN and Infinity, which some writers leave unquoted
    index = number(values.get("_index")) if isinstance(values, dict) else -1.0
    if not 0 <= index < LARGEST_INDEX:
        return None
    return Record(int(index), text(values.get("_session_id")), number(values.get("_timestamp_ms")), values)


def _check_line_lengths(path: Path, lines: list[bytes]) -> list[Finding]:
    """Donkeycar seeks by the stored line lengths: if they are wrong, it reads other records than we do."""
    try:
        stored = json_or_none(read_bounded(path.with_suffix(".catalog_manifest"), MAX_JSON_BYTES))
        lengths = [int(length) for length in stored["line_lengths"]]
    except (OSError, AiccError, *DAMAGE):
        return found(NOTE, "catalog-manifest", f"{path.stem}.catalog_manifest is missing or damaged (not needed here)")
    actual = [len(line) + 1 for line in lines[:-1]] + ([len(lines[-1])] if lines[-1] else [])
    if lengths == actual or sum(lengths) == sum(actual):  # Windows line ends shift single lengths but not the sum
        return []
    return found(NOTE, "catalog-manifest", f"{path.stem}.catalog_manifest does not fit its catalog (not needed here)")


def _compare_with_manifest(contents: TubContents, manifest: _Manifest, strangers: set[int]) -> list[Finding]:
    """strangers: indices in catalogs that the manifest does not list, of which more is said elsewhere."""
    findings = []
    missing = missing_indices(contents)
    findings += found(LOSS, "missing-index", f"{missing} indices between the first and the last record are missing", missing)
    after_last = contents.records[-1].index + 1 if contents.records else 0
    if manifest.current_index is not None:
        lost = manifest.current_index - after_last
        findings += found(LOSS, "records-missing", f"{MANIFEST} counts {lost} more records at the end than exist", max(lost, 0))
        beyond = sum(each.index >= manifest.current_index and each.index not in strangers for each in contents.records)
        findings += found(NOTE, "records-uncounted", f"{beyond} records at the end are not counted in {MANIFEST}", beyond)
    recorded = set(chain.from_iterable(record.values for record in contents.records))
    undeclared = sorted(key for key in contents.declared if key not in recorded and contents.records)
    return findings + found(NOTE, "key-absent", f"declared but in no record: {_some(undeclared)}", len(undeclared))


def _usual_time(times_ms: list[float]) -> float:
    known = [time for time in times_ms if time == time]
    return statistics.median(known) if known else float("nan")


def _some(items: list[Any], limit: int = 5) -> str:
    shown = ", ".join(str(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"
