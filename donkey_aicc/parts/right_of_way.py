"""The drive loop goes before the scorer: two busy cores share caches and memory, and slow each other down by half."""

import contextlib
import os
import sys
import threading
from types import TracebackType

NICENESS = 5  # of the scorer's thread; more, and it would sit on Python's lock while others use its core


class RightOfWay:
    """`with` it, the drive loop computes; meanwhile the scorer's thread waits between two of its steps, at most `patience_s`."""

    def __init__(self, patience_s: float = 0.05) -> None:
        self._free = threading.Event()
        self._free.set()
        self._patience_s = patience_s  # whatever happens in the loop, the scorer goes on

    def __enter__(self) -> None:
        self._free.clear()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._free.set()

    def give(self) -> None:
        """Called by whoever can wait."""
        self._free.wait(self._patience_s)


def give_way() -> None:
    """The calling thread yields to the drive loop where both want the same core. Only Linux has niceness per thread."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
