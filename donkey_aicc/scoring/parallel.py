"""Scoring many sequences: in this process, over local processes, or on a Dask cluster (`workers.py`).

A group of lanes is the unit of work. Random numbers belong to frames and not to groups, so who works on what changes the
result by float rounding at most.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from donkey_aicc.progress import Progress
from donkey_aicc.scoring.batch_scoring import check_sequences, in_order, score_group
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import BatchSettings, ScoreSettings
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.workers import Workers, team_of

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle


@dataclass(frozen=True)
class Work:
    """What every group of lanes shares."""

    bundle: "Bundle"
    settings: ScoreSettings
    batch: BatchSettings


def score_drives(
    bundle: "Bundle",
    sequences: Sequence[Drive],
    *,
    settings: ScoreSettings | None = None,
    batch: BatchSettings | None = None,
    workers: Workers = 1,
    title: str = "scoring",
) -> ScoreTable:
    """One row per frame of all sequences, in their order. Float rounding apart, the way it is run changes nothing."""
    work = Work(bundle, settings or ScoreSettings(), batch or BatchSettings())
    check_sequences(sequences)
    tables: dict[int, ScoreTable] = {}
    frames = sum(len(sequence) for sequence in sequences)
    with team_of(workers) as team, Progress(title, total=frames, unit="frames") as bar:
        groups = lane_groups([len(sequence) for sequence in sequences], work.batch.lanes, team.size)
        team = team.for_tasks(len(groups))
        advance = bar.advance if team.is_here else None
        calls = ((work, numbers, [sequences[number] for number in numbers], advance) for numbers in groups)
        for numbers, scored in team.run(_score, calls, shared=[work]):
            tables.update(zip(numbers, scored, strict=True))
            if advance is None:
                bar.advance(sum(len(table) for table in scored))
    return in_order(tables)


def lane_groups(lengths: Sequence[int], lanes: int, workers: int) -> list[list[int]]:
    """Numbers of the sequences that run together, the longest first, the group with the most frames first.

    No group has more than `lanes`; there are as many for every worker, with about as many frames each: with a last small group
    all but one worker would wait for it.
    """
    count = min(len(lengths), math.ceil(math.ceil(len(lengths) / lanes) / workers) * workers)
    groups: list[list[int]] = [[] for _ in range(count)]
    frames = [0] * count
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        least = min((group for group in range(count) if len(groups[group]) < lanes), key=lambda group: frames[group])
        groups[least].append(number)
        frames[least] += lengths[number]
    return [groups[group] for group in sorted(range(count), key=lambda group: -frames[group])]


def _score(
    work: Work, numbers: list[int], sequences: list[Drive], advance: Callable[[int], None] | None
) -> tuple[list[int], list[ScoreTable]]:
    return numbers, score_group(work.bundle, sequences, work.settings, work.batch, advance)
