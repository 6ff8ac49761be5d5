"""Finds the tubs meant by the paths a person gives: tub folders, or folders that contain tubs at any depth."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.tub_contents import TubContents
from donkey_aicc.tubs.tub_reader import is_v2_tub, read_v2_tub
from donkey_aicc.tubs.tub_v1 import is_v1_tub, read_v1_tub


def is_tub(path: Path) -> bool:
    return is_v2_tub(path) or is_v1_tub(path)


def read_tub(path: str | Path, listed_only: bool = False) -> TubContents:
    """Read one tub of either version. listed_only: leave out catalogs that its manifest does not list."""
    path = Path(path)
    if is_v2_tub(path):
        return read_v2_tub(path, listed_only)
    if is_v1_tub(path):
        return read_v1_tub(path)
    raise AiccError(_no_tub(path))


def find_tubs(paths: Iterable[str | Path], keep_others: bool = False) -> list[Path]:
    """Every tub once, those of one folder in name order.

    A path without any tub is an error, unless keep_others passes it on as it is (for a report that names it).
    """
    tubs: dict[Path, Path] = {}
    for given in paths:
        path = Path(given).expanduser()
        inside = [path] if is_tub(path) else _tubs_below(path)
        if not inside and not keep_others:
            raise AiccError(_no_tub(path))
        for tub in inside or [path]:
            tubs.setdefault(Path(os.path.realpath(tub)), tub)  # unlike resolve(), this also takes a link to itself
    if not tubs:
        raise AiccError("no tub given")
    return list(tubs.values())


def _no_tub(path: Path) -> str:
    if not path.is_dir():
        return f"no tub at {path}: {'not a folder' if path.exists() else 'no such folder'}"
    return f"no tub at {path}: found neither catalogs (version 2) nor record_N.json files (version 1)"


def _tubs_below(path: Path) -> list[Path]:
    tubs = []
    for folder, subfolders, _ in os.walk(path):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in list(subfolders):
            if is_tub(Path(folder, name)):
                tubs.append(Path(folder, name))
                subfolders.remove(name)
    return sorted(tubs)


def tub_names(tubs: Iterable[Path]) -> list[str]:
    """The folder name of each tub, with as many parent names as it takes to tell two tubs apart."""
    resolved = [Path(os.path.realpath(tub)) for tub in tubs]
    depth = [1] * len(resolved)
    while True:
        names = ["_".join(path.parts[-parts:]) for path, parts in zip(resolved, depth, strict=True)]
        often = Counter(names)
        clashing = [i for i, name in enumerate(names) if often[name] > 1 and depth[i] < len(resolved[i].parts)]
        if not clashing:
            return names
        for i in clashing:
            depth[i] += 1
