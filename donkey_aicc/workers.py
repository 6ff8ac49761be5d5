"""One way to spread work: over processes of this computer, or over the computers of a Dask cluster that exists already.

Both through joblib. Whoever spreads work takes `workers`: a number of local processes, or the address of a scheduler.
"""

import contextlib
import ctypes
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.plugins import load_plugins
from donkey_aicc.resources import install_line

Result = TypeVar("Result")
Workers = int | str  # processes of this computer, or the address of a Dask scheduler such as tcp://host:8786
LOOK_EVERY_S = 0.5
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of glibc's mallopt
CONNECT_S = 10.0


@dataclass(frozen=True)
class Team:
    """Those who work. size: how many tasks run at once. With one there is nobody else: the work is done here, in order."""

    size: int
    client: Any = None  # of a Dask cluster

    @property
    def is_here(self) -> bool:
        """Nobody else works."""
        return self.size == 1 and self.client is None

    def for_tasks(self, count: int) -> "Team":
        """No more local processes than tasks."""
        return Team(max(1, min(self.size, count))) if self.client is None else self

    def run(
        self, function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], shared: Sequence[Any] = ()
    ) -> Iterator[Result]:
        """The results of function(*call) for every call, as they come. Calls are taken when somebody is free for them.

        shared: arguments that come in every call; they go to each computer of a cluster once.
        """
        if self.is_here:
            yield from (function(*call) for call in calls)
            return
        from joblib import Parallel, delayed, parallel_config

        jobs = (delayed(_elsewhere)(function, *call) for call in calls)
        how: dict[str, Any] = {"n_jobs": self.size, "return_as": "generator_unordered", "pre_dispatch": "n_jobs"}
        if self.client is None:
            yield from Parallel(backend="loky", initializer=end_with_parent, initargs=(os.getpid(),), **how)(jobs)
        else:
            with parallel_config(backend="dask", client=self.client, scatter=list(shared) or None):
                yield from Parallel(**how)(jobs)


@contextmanager
def team_of(workers: Workers) -> Iterator[Team]:
    """So many processes, or the workers of the cluster at this address."""
    if isinstance(workers, int):
        if workers < 1:
            raise ConfigError(f"workers must be >= 1, got {workers}")
        yield Team(workers)
        return
    try:
        import distributed
    except ImportError:
        raise AiccError(f"a Dask cluster needs the [cluster] extra: {install_line('cluster')}") from None
    try:
        client = distributed.Client(workers, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise AiccError(f"cannot reach a Dask scheduler at {workers}: {error}; start one with: dask scheduler") from error
    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # the frames: each task needs its own
    with client:
        threads = client.nthreads()
        if not threads:
            raise AiccError(f"the Dask scheduler at {workers} has no workers; start some with: dask worker {workers}")
        _check_versions(client)
        yield Team(sum(threads.values()), client)


def _check_versions(client: Any) -> None:
    """Work is sent as names of functions: another version would do something else."""
    import donkey_aicc

    found = client.run(_version)
    other = {place: version for place, version in found.items() if version != donkey_aicc.__version__}
    if other:
        place, version = next(iter(other.items()))
        raise AiccError(
            f"every worker must have donkey_aicc {donkey_aicc.__version__}, as here; {place} has {version or 'none'}: "
            f"install this very checkout there, as here: {install_line('cluster')}"
        )


def _version() -> str | None:
    try:
        import donkey_aicc
    except ImportError:
        return None
    return donkey_aicc.__version__


def _elsewhere(function: Callable[..., Result], *call: Any) -> Result:
    load_plugins()  # a worker is a process of its own, which knows nothing of what was registered
    _keep_memory()
    return function(*call)


@cache
def _keep_memory() -> None:
    """Dask tells its workers' C library to hand back all freed memory at once (MALLOC_TRIM_THRESHOLD_). Scoring asks for as much
    again with the next frame, and that took a fifth of its time."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems have no such function
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, 256 << 20)
        library.mallopt(_MMAP_THRESHOLD, 32 << 20)


def end_with_parent(parent: int) -> None:
    """In a local worker, at its start: watch the process with this id. Waiting for work, it would wait on for minutes.

    The id is handed over, because a parent killed meanwhile is no longer the one that the system names.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True, name="aicc-parent-watch").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_S)
    os._exit(1)
