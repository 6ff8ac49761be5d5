"""Reading text that a stranger may have written: bounded in size, depth and numbers, with one message of ours on every fault.

Python's own JSON reader takes a file of any size, whole numbers of any length and NaN, and ends in its own errors for
deeply nested input. A file of ours needs none of that, so none of it gets in.
"""

import csv
import io
import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

from donkey_aicc.errors import AiccError

MAX_JSON_BYTES = 64 << 20
MAX_TABLE_BYTES = 256 << 20
MAX_TABLE_COLUMNS = 1000
MAX_TABLE_ROWS = 1_000_000  # a row of two cells takes fifty times its bytes once it is read
MAX_DEPTH = 40
MAX_DIGITS = 25
# Brackets outside of texts. A text that never ends is taken to the end, so that the search stays linear.
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def read_untrusted_json(path: str | Path, most_bytes: int = MAX_JSON_BYTES) -> Any:
    """The content of a JSON file; whatever is wrong with it is an AiccError that names the file. OSErrors pass."""
    return parse_json(read_bounded(path, most_bytes), str(path))


def read_bounded(path: str | Path, most_bytes: int) -> bytes:
    """The bytes of a file of at most that many. Pipes and devices, which may never end, are refused. OSErrors pass."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise AiccError(f"{path} must be a file")
    with open(path, "rb") as file:
        data = file.read(min(found.st_size, most_bytes) + 1)
    if len(data) > most_bytes:
        raise AiccError(f"{path} must have at most {most_bytes} bytes, got more")
    return data


def read_own(path: str | Path, most_bytes: int) -> bytes:
    """`read_bounded` of a file that lies where it is named: a link could lead to other files of its reader."""
    if os.path.islink(path):
        raise AiccError(f"{path} must be a file, got a link")
    return read_bounded(path, most_bytes)


def parse_json(data: bytes | str, name: str) -> Any:
    """JSON with finite numbers, whole ones of at most 25 digits, and at most 40 levels."""
    try:
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
        _check_depth(text, name)
        return json.loads(text, parse_int=_whole_number, parse_float=_number, parse_constant=_refuse_constant)
    except ValueError as error:
        raise AiccError(f"{name} is not usable JSON ({error})") from None


def json_or_none(data: bytes | str) -> Any:
    """JSON as other programs write it, NaN and long numbers included; None for what cannot be read."""
    try:
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
        _check_depth(text, "")
        return json.loads(text)
    except (ValueError, AiccError):
        return None


def _whole_number(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a whole number must have at most {MAX_DIGITS} digits, got {len(text)}")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a number must be finite, got {text[:40]}")
    return value


def _refuse_constant(text: str) -> None:
    raise ValueError(f"a number must be finite, got {text}")


def _check_depth(text: str, name: str) -> None:
    """Before the reader sees it: where a library has raised Python's recursion limit, the reader's own stack would end first."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:  # nearly all files
        return
    depth = 0
    for token in _BRACKETS.finditer(text):
        sign = token[0][0]
        depth += (sign in "[{") - (sign in "]}")
        if depth > MAX_DEPTH:
            raise AiccError(f"{name} must be nested at most {MAX_DEPTH} levels deep, got more")


def read_table(path: str | Path, most_bytes: int = MAX_TABLE_BYTES) -> tuple[list[str], list[dict[str, str]]]:
    """Column names and rows of a CSV file with a header; cells that a row lacks are ''. OSErrors pass."""
    try:
        text = read_bounded(path, most_bytes).decode("utf-8-sig")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if text.count("\n") > MAX_TABLE_ROWS:
            raise AiccError(f"{path} must have at most {MAX_TABLE_ROWS} rows, got more")
        reader = csv.DictReader(io.StringIO(text), restval="", strict=True)
        if len(reader.fieldnames or []) > MAX_TABLE_COLUMNS:
            raise AiccError(f"{path} must have at most {MAX_TABLE_COLUMNS} columns, got more")
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise AiccError(f"{path} is not a readable table ({error})") from None
    names = list(reader.fieldnames or [])
    if len(set(names)) < len(names):
        raise AiccError(f"{path} must name each column once, got {', '.join(names)}")
    long = next((line for line, row in enumerate(rows, start=2) if None in row), None)
    if long is not None:
        raise AiccError(f"{path} line {long} has more cells than the header has names")
    return names, rows
