"""Results of all runs of the study: one JSON file each below results/runs, the reference run first."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from donkey_aicc.files import read_json, write_atomic
from studies.layout import Layout
from studies.study_report import read_results

RUNS = "runs"
REFERENCE = "loop-0"
KEPT_FIGURES = ("overview", "ece_by_horizon", "frontier", "ood_detection", "reliability", "open_loop")
ORDER = ("loop", "hairpin", "oval", "chicane")  # then the generated ones

Runs = dict[str, dict[str, Any]]  # name such as loop-0 -> results


def run_name(results: dict[str, Any]) -> str:
    """Track and model seed."""
    about = results["about"]
    return f"{about['track'].replace(':', '_')}-{about['model_seed']}"


def collect(experiments: Sequence[str | Path], folder: Path) -> list[Path]:
    """Copy the results of finished experiments below `folder`, without white space: they are for programs.

    The reference run also leaves its figures and its comparison of closed and open loop; each run its frozen file.
    """
    written = []
    for experiment in experiments:
        layout = Layout(Path(experiment))
        results = read_results(layout.report)
        name = run_name(results)
        path = folder / RUNS / f"{name}.json"
        write_atomic(path, json.dumps(results, separators=(",", ":"), allow_nan=False) + "\n")
        _copy(layout.frozen, folder / "frozen" / f"{name}.json")
        if name == REFERENCE:
            for figure in KEPT_FIGURES:
                _copy(layout.report / "figures" / f"{figure}.png", folder / "figures" / f"{figure}.png")
            _copy(layout.report / "open_loop.json", folder / "open_loop.json")
        written.append(path)
    return written


def _copy(source: Path, target: Path) -> None:
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def read_runs(folder: Path) -> Runs:
    """By track, then by model seed; the reference run first."""
    found = [read_json(path, "make it with: python -m studies results EXP...") for path in sorted((folder / RUNS).glob("*.json"))]
    return {run_name(results): results for results in sorted(found, key=_place)}


def one_per_track(runs: Runs) -> Runs:
    """The first model seed of every track: what "on n of N tracks" counts."""
    chosen: dict[str, str] = {}
    for name, results in runs.items():
        chosen.setdefault(results["about"]["track"], name)
    return {name: runs[name] for name in chosen.values()}


def _place(results: dict[str, Any]) -> tuple[int, str, int]:
    track = results["about"]["track"]
    return (ORDER.index(track) if track in ORDER else len(ORDER), track, results["about"]["model_seed"])
