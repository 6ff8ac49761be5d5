"""Reads a version 1 tub: one record_N.json per frame beside its image, and meta.json."""

import re
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.tub_contents import (
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

RECORD_NAME = re.compile(r"record_(\d{1,15})\.json")


def is_v1_tub(path: Path) -> bool:
    try:
        return any(RECORD_NAME.fullmatch(entry.name) for entry in path.iterdir())
    except OSError:
        return False


def read_v1_tub(path: Path) -> TubContents:
    """All records that can be parsed. Version 1 has no sessions; deleted records are simply not there."""
    declared, findings = _read_meta(path)
    records: list[Record] = []
    damaged: list[int] = []
    for entry in path.iterdir():
        match = RECORD_NAME.fullmatch(entry.name)
        if match:
            values = _read_json(entry)
            if values is None:
                damaged.append(int(match[1]))
            else:
                records.append(_record(int(match[1]), values))
    first = ", ".join(str(index) for index in sorted(damaged)[:5])
    findings += found(LOSS, "record-unreadable", f"{len(damaged)} records are damaged (first: {first})", len(damaged))
    ordered, problems = in_index_order(sorted(records, key=lambda record: record.index))
    contents = TubContents(path, "v1", path, ordered, declared=declared, findings=findings + problems)
    gaps = missing_indices(contents) - len(damaged)
    contents.findings += found(
        NOTE, "missing-index", f"{gaps} indices between the first and the last record are missing", max(gaps, 0)
    )
    return contents


def _read_meta(path: Path) -> tuple[dict[str, str], list[Finding]]:
    meta = _read_json(path / "meta.json")
    if meta is None:
        return {}, found(NOTE, "manifest-damaged", "meta.json is missing or damaged (not needed)")
    inputs, types = meta.get("inputs"), meta.get("types")
    if not isinstance(inputs, list) or not isinstance(types, list):
        return {}, []
    return {str(key): str(kind) for key, kind in zip(inputs, types, strict=False)}, []


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        values = json_or_none(read_bounded(path, MAX_JSON_BYTES))
    except (OSError, AiccError):
        return None
    return values if isinstance(values, dict) else None


def _record(index: int, values: dict[str, Any]) -> Record:
    time_ms = number(values.get("milliseconds", values.get("_timestamp_ms")))
    return Record(index, text(values.get("_session_id")), time_ms, values)
