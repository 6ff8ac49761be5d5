"""What goes to one side of a split as a whole: a tub session, a stretch of one, or a block of a long drive."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.nets.manifest import CONTEXT
from donkey_aicc.tubs.drive import FULL_LENGTH, Drive
from donkey_aicc.tubs.laps import find_lap, lap_starts
from donkey_aicc.tubs.near_duplicates import runs_of

GUARD_S = 3.0
SESSION, GAP, BLOCK, AUTO = "session", "gap", "block", "auto"
MODES = (AUTO, SESSION, GAP, BLOCK)

FEWEST_SESSIONS = 4  # three sides, and validation out of the first; scraps are no sessions
SCRAP = 0.05  # of the largest session: less is no session to learn from or to judge on
FEWEST_STRETCHES = 8  # so that calibration and test get two or more
LARGEST_STRETCH = 0.4  # of all frames
SHORTEST_BLOCK = 200  # frames: so that some count and have all labels
LONGEST_BLOCK = 1200
BLOCKS_OF_A_SMALL_SIDE = 4


@dataclass(frozen=True)
class SplitMethod:
    """How to cut, and what must lie between two sides of one session."""

    mode: str
    guard_s: float
    lap: int = 0  # frames of a usual lap, which a block holds whole; 0: none was found


def choose_method(sequences: Sequence[Drive], mode: str = AUTO, guard_s: float = GUARD_S, context: int = CONTEXT) -> SplitMethod:
    """The mode asked for, or the strictest that this data allows; the guard is never shorter than the context."""
    one_of("split", mode, MODES)
    if not 0 <= guard_s < float("inf"):
        raise ConfigError(f"the guard must be a number of seconds >= 0, got {guard_s}")
    guard_s = max(guard_s, context * _frame_s(sequences))
    if mode not in (AUTO, BLOCK):
        return SplitMethod(mode, guard_s)
    sessions: dict[tuple[str, str], int] = {}
    for sequence in sequences:
        sessions[sequence.session_key] = sessions.get(sequence.session_key, 0) + len(sequence)
    largest = max(sessions.values(), default=0)
    if mode == AUTO and sum(frames >= SCRAP * largest for frames in sessions.values()) >= FEWEST_SESSIONS:
        return SplitMethod(SESSION, guard_s)
    frames = np.array([sum(len(one) for one in unit) for unit in _stretches(sequences, guard_s)])
    far_apart = (frames >= FULL_LENGTH).sum() >= FEWEST_STRETCHES and frames.max() <= LARGEST_STRETCH * frames.sum()
    if mode == AUTO and far_apart:
        return SplitMethod(GAP, guard_s)
    lap = find_lap(sequences)
    return SplitMethod(BLOCK, guard_s, lap.frames if lap else 0)


Unit = list[Drive]


def units_of(sequences: Sequence[Drive], method: SplitMethod, smallest: float) -> dict[tuple[str, str, int], Unit]:
    """What goes to one side as a whole."""
    if method.mode == SESSION:
        sessions: dict[tuple[str, str, int], Unit] = {}
        for sequence in sequences:
            sessions.setdefault((*sequence.session_key, 0), []).append(sequence)
        return sessions
    units = _stretches(sequences, method.guard_s)
    if method.mode == BLOCK:
        units = [block for unit in units for block in _blocks(unit, _block_frames(sequences, smallest), method.lap)]
    return {(*unit[0].session_key, int(unit[0].indices[0])): unit for unit in units}


def _stretches(sequences: Sequence[Drive], guard_s: float) -> list[Unit]:
    """Sequences of one session with less than the guard between them belong together."""
    ordered = sorted(sequences, key=lambda one: (*one.session_key, float(one.times_s[0]), one.id))
    units: list[Unit] = []
    until = -np.inf
    for number, sequence in enumerate(ordered):
        same = number > 0 and sequence.session_key == ordered[number - 1].session_key
        if same and float(sequence.times_s[0]) - until < guard_s:
            units[-1].append(sequence)
        else:
            units.append([sequence])
            until = -np.inf
        until = max(until, float(sequence.times_s[-1]))
    return units


def _block_frames(sequences: Sequence[Drive], smallest: float) -> int:
    """So long that a small side gets a few blocks, and each has room for a context and its labels."""
    frames = sum(len(sequence) for sequence in sequences)
    return int(np.clip(frames * smallest / BLOCKS_OF_A_SMALL_SIDE, SHORTEST_BLOCK, LONGEST_BLOCK))


def _blocks(stretch: Unit, frames: int, lap: int = 0) -> list[Unit]:
    """The stretch cut every `frames` frames or so, whether one sequence or several short ones lie there; laps stay whole."""
    total = sum(len(sequence) for sequence in stretch)
    edges = np.linspace(0, total, max(1, round(total / frames)) + 1).astype(int)
    if lap and len(edges) > 2:
        edges = _whole_laps(stretch, edges, lap)
    blocks: list[Unit] = []
    for low, high in pairwise(edges.tolist()):
        block, at = [], 0
        for sequence in stretch:
            start, stop = max(low - at, 0), min(high - at, len(sequence))
            if start < stop:
                block.append(sequence if stop - start == len(sequence) else sequence.part(start, stop))
            at += len(sequence)
        blocks.append(block)
    return blocks


def _whole_laps(stretch: Unit, edges: np.ndarray, lap: int) -> np.ndarray:
    """The inner edges moved to where a lap is round, so that every block has seen every place."""
    starts, at = [], 0
    for sequence in stretch:
        starts += [at + row for row in lap_starts(sequence, lap)]
        at += len(sequence)
    round_at = np.array(starts)
    moved = [int(round_at[np.abs(round_at - edge).argmin()]) for edge in edges[1:-1]]
    return np.unique([0, *moved, at])


def joined(blocks: list[Drive], sequences: Sequence[Drive]) -> list[Drive]:
    """Neighbouring blocks of one sequence as one drive again: training likes long windows."""
    found: list[Drive] = []
    for sequence in sorted(sequences, key=lambda one: (*one.session_key, int(one.indices[0]), one.id)):
        inside = np.zeros(len(sequence), dtype=bool)
        for block in blocks:
            if block.session_key == sequence.session_key:
                inside |= (sequence.indices >= block.indices[0]) & (sequence.indices <= block.indices[-1])
        found += runs_of(sequence, inside)
    return found


def _frame_s(sequences: Sequence[Drive]) -> float:
    """Median seconds from a frame to the next; 0 if there are no two frames in a row."""
    steps = [np.diff(sequence.times_s) for sequence in sequences if len(sequence) > 1]
    return float(np.median(np.concatenate(steps))) if steps else 0.0
