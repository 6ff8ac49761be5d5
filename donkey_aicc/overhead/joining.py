"""Joins the tracked path to the records of a tub: a cross-track error for every record that was seen, none for the others."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import csv_text, write_atomic
from donkey_aicc.overhead.alignment import Alignment, align
from donkey_aicc.overhead.centreline import Centreline
from donkey_aicc.overhead.tracking import MarkerPath
from donkey_aicc.tubs.find_tubs import read_tub
from donkey_aicc.tubs.telemetry import read_commands, read_telemetry
from donkey_aicc.tubs.timeline import backward_steps, read_times

MAX_BRIDGE_S = 0.15  # between two sightings this close the car drove (almost) straight; further apart nothing is made up
SAME_MOMENT_S = 0.01


@dataclass(frozen=True, eq=False)
class TubTrace:
    """What a tub says of when and how it was driven; deleted records are left out."""

    path: Path
    indices: np.ndarray  # (N,) int64
    times_s: np.ndarray  # (N,) from the first record
    actions: np.ndarray  # (N, 2) steering, throttle; NaN where none was recorded
    times_measured: bool  # False: made up from the index


@dataclass(frozen=True, eq=False)
class OverheadLabels:
    """One row per record."""

    tub: TubTrace
    alignment: Alignment
    xy: np.ndarray  # (N, 2) metres, NaN where the car was not seen
    cte_m: np.ndarray  # (N,), positive right of the line, NaN where the car was not seen

    @property
    def labelled_share(self) -> float:
        return float(np.isfinite(self.cte_m).mean())


def read_trace(path: str | Path) -> TubTrace:
    """Read times and commands of one tub; it is only read."""
    contents = read_tub(path)
    if len(contents.records) < 2:
        raise AiccError(f"the tub {path} holds {len(contents.records)} readable records; at least 2 are needed")
    timeline = read_times(contents)
    if backward_steps(contents, timeline) or np.any(np.diff(timeline.times_s) < 0):
        row = int(np.argmin(np.diff(timeline.times_s)))
        raise AiccError(
            f"the tub {path}: time runs backwards after record {contents.records[row].index}, so it cannot be joined to one "
            "video; record each drive in a tub of its own, with the clock set before"
        )
    commands = read_commands(contents.records, read_telemetry(contents.records).mode)
    indices = np.array([record.index for record in contents.records], dtype=np.int64)
    live = ~np.isin(indices, np.array(sorted(contents.deleted), dtype=np.int64))
    if live.sum() < 2:
        raise AiccError(f"the tub {path}: all but {live.sum()} records are marked as deleted")
    times_s = timeline.times_s[live]
    return TubTrace(Path(path), indices[live], times_s - times_s[0], commands.actions[live], timeline.measured)


def join(path: MarkerPath, tub: TubTrace, centreline: Centreline, offset_s: float | None = None) -> OverheadLabels:
    """Positions and cte at the times of the records; the offset is estimated unless it is given."""
    alignment = align(path.times_s, path.xy, tub.times_s, tub.actions, offset_s)
    xy = place_at(path, tub.times_s + alignment.offset_s)
    if not np.isfinite(xy).any():
        raise AiccError(
            f"with an offset of {alignment.offset_s:.2f} s not one record of {tub.path} falls on a moment at which the marker "
            f"was seen (video {path.times_s[-1]:.1f} s, tub {tub.times_s[-1]:.1f} s)"
        )
    _, cte_m = centreline.project(xy)
    return OverheadLabels(tub, alignment, xy, cte_m)


def place_at(path: MarkerPath, times_s: np.ndarray) -> np.ndarray:
    """(n, 2) metres at video times, between the sightings before and after if they are close; else NaN."""
    known_s, known = path.times_s[path.seen], path.xy[path.seen]
    after = np.clip(np.searchsorted(known_s, times_s), 1, max(1, len(known_s) - 1))
    bridged = (known_s[after] - known_s[after - 1] <= MAX_BRIDGE_S) & (times_s >= known_s[0]) & (times_s <= known_s[-1])
    close = bridged | (np.minimum(abs(times_s - known_s[after]), abs(times_s - known_s[after - 1])) <= SAME_MOMENT_S)
    places = np.stack([np.interp(times_s, known_s, known[:, axis]) for axis in range(2)], axis=1)
    return np.where(close[:, None], places, np.nan)


def write_labels(path: str | Path, labels: OverheadLabels, with_tub_name: bool = False) -> None:
    """CSV with the columns index and cte (metres, empty if unlabelled), as `donkey-aicc train --labels` reads it.

    with_tub_name adds a column `tub`, for files of several tubs that are to be put together.
    """
    cells = [f"{cte:.4f}" if np.isfinite(cte) else "" for cte in labels.cte_m.tolist()]
    columns = {"index": labels.tub.indices.tolist(), "cte": cells}
    if with_tub_name:
        columns = {"tub": [labels.tub.path.resolve().name] * len(cells), **columns}
    write_atomic(path, csv_text(columns, *zip(*columns.values(), strict=True)))
