"""Local worker processes that end with the process that started them, also when that one is killed."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from donkey_aicc.plugins import load_plugins

Result = TypeVar("Result")
LOOK_EVERY_S = 0.5


def in_workers(function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Result]:
    """The results of function(*call) for every call, as they come. Calls are taken when a worker is free for them."""
    from joblib import Parallel, delayed

    watch = {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    run = Parallel(n_jobs=workers, backend="loky", return_as="generator_unordered", pre_dispatch="n_jobs", **watch)
    yield from run(delayed(function)(*call) for call in calls)


def end_with_parent(parent: int) -> None:
    """In a worker, at its start: watch the process with this id. Waiting for work, it would wait on for minutes.

    The id is handed over, because a parent killed meanwhile is no longer the one that the system names.
    """
    load_plugins()  # a worker is a process of its own, which knows nothing of what was registered
    threading.Thread(target=_watch, args=(parent,), daemon=True, name="aicc-parent-watch").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_S)
    os._exit(1)
