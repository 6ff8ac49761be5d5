"""donkeycar's loop waits by the wall clock: put back by an hour in the middle of a tick, it would sleep for an hour.

The last throttle would be sent all that time. A Raspberry Pi sets its clock whenever it finds a network.
"""

import time
from types import SimpleNamespace
from typing import Any

_CLOCK = SimpleNamespace(time=time.monotonic, sleep=time.sleep)


def steady_loop(V: Any) -> None:
    """Give the loop a clock that only goes forward. A vehicle with another loop than donkeycar's keeps its own."""
    from donkeycar import vehicle  # here: it prints a banner, and commands that drive nothing need none

    if isinstance(V, vehicle.Vehicle):
        vehicle.time = _CLOCK
