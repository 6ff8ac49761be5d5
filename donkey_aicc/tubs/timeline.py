"""When the records were taken, and where a tub must be cut into sequences."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from donkey_aicc.tubs.tub_contents import NOTE, Finding, TubContents, found

ASSUMED_RATE_HZ = 20.0  # donkeycar's DRIVE_LOOP_HZ, used where a tub has no usable times
FASTEST_RATE_HZ = 150.0  # no car camera is faster: such times were made by copying records, not by driving

DELETED, IMAGE, COMMAND = "deleted", "unreadable image", "no command"
SESSION, MISSING, GAP, BACKWARDS = "session change", "missing index", "time gap", "time backwards"


@dataclass(frozen=True)
class Cut:
    """Between two records that follow each other in the tub but not in a sequence."""

    after: int  # index of the last record before the cut
    before: int  # index of the first record behind it
    reason: str


@dataclass(frozen=True)
class Timeline:
    """N records."""

    times_s: np.ndarray  # (N,) float64
    measured: bool  # False: the times are made up from the index
    findings: list[Finding]


def read_times(contents: TubContents) -> Timeline:
    """Recorded times in seconds, or times from the index where the recorded ones are absent or impossible."""
    records = contents.records
    indices = np.array([record.index for record in records], dtype=np.int64)
    recorded = np.array([record.time_ms for record in records], dtype=np.float64) / 1000.0
    known = np.isfinite(recorded)
    assumed = Timeline(indices / ASSUMED_RATE_HZ, False, [])
    at_rate = f"time follows the index at {ASSUMED_RATE_HZ:g} Hz and does not cut"
    if known.sum() < 0.5 * len(records):
        findings = found(
            NOTE, "time-missing", f"{(~known).sum()} of {len(records)} records have no time; {at_rate}", len(records)
        )
        return Timeline(assumed.times_s, False, findings)
    steps = np.diff(recorded)[np.diff(indices) == 1]
    steps = steps[np.isfinite(steps)]
    usual = float(np.median(steps)) if len(steps) else 1.0 / ASSUMED_RATE_HZ
    if usual < 1.0 / FASTEST_RATE_HZ:
        message = f"records are {usual * 1000:.3g} ms apart, which no camera does; {at_rate}"
        return Timeline(assumed.times_s, False, found(NOTE, "time-useless", message, len(records)))
    findings = found(
        NOTE, "time-filled", f"{(~known).sum()} records have no time; filled in from neighbours", int((~known).sum())
    )
    return Timeline(np.where(known, recorded, np.interp(indices, indices[known], recorded[known])), True, findings)


def breaks_sequence(step_s: Any, max_gap_s: float) -> Any:
    """Whether no sequence goes on over so much time between two frames: on the car and in a tub. A number or an array."""
    return (step_s < 0) | (step_s > max_gap_s)


def find_runs(
    contents: TubContents, times: Timeline, lost: dict[str, np.ndarray], max_gap_s: float
) -> tuple[list[tuple[int, int]], list[Cut]]:
    """Maximal runs (start, stop) of consecutive records, and every cut between two of them.

    lost: reason -> (N,) bool, records that cannot be used. Pictures that are lost for up to `max_gap_s` are a gap inside a run,
    as on the car; a run begins and ends with a record that can be used.
    """
    records = contents.records
    usable = ~np.any(np.stack(list(lost.values())), axis=0) if lost else np.ones(len(records), dtype=bool)
    rows = np.flatnonzero(usable)
    runs: list[tuple[int, int]] = []
    cuts: list[Cut] = []
    start = 0
    for position in _suspects(contents, times, rows, max_gap_s):
        reason = _cut_reason(contents, times, lost, max_gap_s, int(rows[position - 1]), int(rows[position]))
        if reason:
            cuts.append(Cut(records[rows[position - 1]].index, records[rows[position]].index, reason))
            runs.append((int(rows[start]), int(rows[position - 1]) + 1))
            start = position
    if len(rows):
        runs.append((int(rows[start]), int(rows[-1]) + 1))
    return runs, cuts


def _suspects(contents: TubContents, times: Timeline, rows: np.ndarray, max_gap_s: float) -> list[int]:
    """Positions in `rows` before which there may be a cut; a tub has thousands of records and few cuts."""
    records = [contents.records[row] for row in rows]
    indices = np.array([record.index for record in records], dtype=np.int64)
    moved = np.array([first.session != second.session for first, second in pairwise(records)], dtype=bool)
    jumped = (np.diff(indices) != 1) | (np.diff(rows) != 1)
    odd_time = breaks_sequence(np.diff(times.times_s[rows]), max_gap_s)
    return (np.flatnonzero(moved | jumped | odd_time) + 1).tolist()


def _cut_reason(
    contents: TubContents, times: Timeline, lost: dict[str, np.ndarray], max_gap_s: float, left: int, right: int
) -> str:
    """Why no sequence may go on from row `left` to row `right`; '' if it may."""
    first, second = contents.records[left], contents.records[right]
    if first.session != second.session:
        return SESSION
    step = times.times_s[right] - times.times_s[left]
    for reason, rows in lost.items():
        if rows[left + 1 : right].any() and (reason != IMAGE or breaks_sequence(step, max_gap_s)):
            return reason
    absent = second.index - first.index - (right - left)
    if absent:
        deleted = sum(first.index < index < second.index for index in contents.deleted)
        return DELETED if deleted == absent else MISSING
    if not times.measured or not breaks_sequence(step, max_gap_s):
        return ""
    return BACKWARDS if step < 0 else GAP


def backward_steps(contents: TubContents, times: Timeline) -> int:
    """How often a record is older than the one before it in its session."""
    same = np.array([first.session == second.session for first, second in pairwise(contents.records)], dtype=bool)
    return int(np.sum(same & (np.diff(times.times_s) < 0))) if times.measured else 0


def cut_counts(cuts: list[Cut]) -> dict[str, int]:
    """Cuts per reason, most frequent first."""
    return dict(Counter(cut.reason for cut in cuts).most_common())


def rate_and_jitter(times_s: np.ndarray, runs: list[tuple[int, int]]) -> tuple[float, float]:
    """Frames a second (from the median step) and standard deviation of the step in ms; NaN without two frames in a row."""
    steps = [np.diff(times_s[start:stop]) for start, stop in runs if stop - start > 1]
    if not steps:
        return float("nan"), float("nan")
    joined = np.concatenate(steps)
    usual = float(np.median(joined))
    return (1.0 / usual if usual > 0 else float("nan")), float(np.std(joined)) * 1000.0
