"""Ctrl-C and SIGTERM during training: finish the step, save, then stop. A second Ctrl-C stops at once."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_requested = threading.Event()


def stop_requested() -> bool:
    """True after a signal arrived inside `saving_on_interrupt`."""
    return _requested.is_set()


@contextmanager
def saving_on_interrupt() -> Iterator[None]:
    """Within the block the first SIGINT or SIGTERM only sets `stop_requested`."""
    if threading.current_thread() is not threading.main_thread():  # signals can be caught by the main thread only
        yield
        return
    _requested.clear()
    previous = {number: signal.signal(number, _request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        _requested.clear()


def _request(number: int, frame: FrameType | None) -> None:
    if _requested.is_set():
        raise KeyboardInterrupt
    _requested.set()
    print("stopping after this step; continue later with --resume", file=sys.stderr, flush=True)
