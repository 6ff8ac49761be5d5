"""Scoring many sequences: in this process, over local processes (joblib), or on an existing Dask cluster.

A group of lanes is the unit of work. Random numbers belong to frames and not to groups, so who works on what changes the
result by float rounding at most.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.progress import Progress
from donkey_aicc.scoring.batch_scoring import Drive, check_sequences, in_order, lane_groups, score_group
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import BatchSettings, ScoreSettings
from donkey_aicc.workers import in_workers

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

# One lane group done: the numbers of its sequences and their tables.
GroupResult = tuple[list[int], list[ScoreTable]]


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
    workers: int = 1,
    dask_address: str | None = None,
    dask_timeout_s: float = 10.0,
    title: str = "scoring",
) -> ScoreTable:
    """One row per frame of all sequences, in their order. Float rounding apart, the way it is run changes nothing."""
    work = Work(bundle, settings or ScoreSettings(), batch or BatchSettings())
    if workers < 1:
        raise ConfigError(f"workers must be >= 1, got {workers}")
    check_sequences(sequences)
    with Progress(title, total=sum(len(sequence) for sequence in sequences), unit="frames") as bar:
        if dask_address is not None:
            results = _on_dask(work, sequences, dask_address, dask_timeout_s)
        elif workers > 1 and len(sequences) > 1:
            results = _on_processes(work, sequences, workers)
        else:
            return in_order(_here(work, sequences, bar))
        tables: dict[int, ScoreTable] = {}
        for numbers, scored in results:
            tables.update(zip(numbers, scored, strict=True))
            bar.advance(sum(len(table) for table in scored))
    return in_order(tables)


def _groups(sequences: Sequence[Drive], lanes: int, workers: int) -> list[list[int]]:
    """Narrower groups where the full width would leave workers idle."""
    return lane_groups(sequences, min(lanes, math.ceil(len(sequences) / workers)))


def _here(work: Work, sequences: Sequence[Drive], bar: Progress) -> dict[int, ScoreTable]:
    tables: dict[int, ScoreTable] = {}
    for numbers in _groups(sequences, work.batch.lanes, 1):
        scored = score_group(work.bundle, [sequences[number] for number in numbers], work.settings, work.batch, bar.advance)
        tables.update(zip(numbers, scored, strict=True))
    return tables


def _do(work: Work, numbers: list[int], sequences: list[Drive]) -> GroupResult:
    """In a worker: one torch thread each, the workers are the parallelism."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return numbers, score_group(work.bundle, sequences, work.settings, work.batch)
    finally:
        torch.set_num_threads(threads)


def _on_processes(work: Work, sequences: Sequence[Drive], workers: int) -> Iterator[GroupResult]:
    groups = _groups(sequences, work.batch.lanes, workers)
    calls = ((work, numbers, [sequences[n] for n in numbers]) for numbers in groups)
    yield from in_workers(_do, calls, min(workers, len(groups)))


def _on_dask(work: Work, sequences: Sequence[Drive], address: str, timeout_s: float) -> Iterator[GroupResult]:
    with cluster_client(address, timeout_s) as client:
        shared = client.scatter(work, broadcast=True, hash=False)
        futures = [
            client.submit(_do, shared, numbers, [sequences[n] for n in numbers], pure=False)
            for numbers in _groups(sequences, work.batch.lanes, len(client.nthreads()))
        ]
        for future in _distributed().as_completed(futures, loop=client.loop):
            yield future.result()
            future.release()


@contextmanager
def cluster_client(address: str, timeout_s: float = 10.0) -> Iterator[Any]:
    """A client of a Dask cluster that exists and has workers."""
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=timeout_s, set_as_default=False)
    except (OSError, ValueError) as error:
        raise AiccError(f"cannot reach a Dask scheduler at {address}: {error}; start one with: dask scheduler") from error
    with client:
        if not client.nthreads():
            raise AiccError(f"the Dask scheduler at {address} has no workers; start some with: dask worker {address}")
        yield client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise AiccError("a Dask cluster needs the [cluster] extra: pip install 'donkey_aicc[cluster]'") from None
    return distributed
