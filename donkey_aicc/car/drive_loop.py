"""donkeycar's drive loop as we find it: where our parts belong in it, and two habits of it that are mended.

- Places are read off the channels that the parts of a loop that is built already read and write.
- Its profile remembers every tick, which grows by some 60 MB in an hour at 20 Hz: it is kept short.
- It waits by the wall clock: put back by an hour in the middle of a tick, it would sleep for an hour and send the last throttle
  all that time. A Raspberry Pi sets its clock whenever it finds a network.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from donkey_aicc import channels
from donkey_aicc.errors import AiccError

COMMANDS = (channels.STEERING, channels.THROTTLE)


def name_steering(V: Any) -> None:
    """donkeycar's templates `basic` and `simulator` call the steering that is sent `angle`: from here on it is `steering`.

    What the car adds later may still ask for `angle`, and gets the same.
    """
    if any(channels.STEERING in entry["outputs"] for entry in V.parts) or not any("angle" in e["outputs"] for e in V.parts):
        return
    from donkeycar.parts.pipe import Pipe

    for entry in V.parts:
        for side in ("inputs", "outputs"):
            entry[side] = [channels.STEERING if name == "angle" else name for name in entry[side]]
    V.add(Pipe(), inputs=[channels.STEERING], outputs=["angle"])


@contextmanager
def inserting_at(V: Any, place: int) -> Iterator[None]:
    """What is added to the vehicle inside goes to this index of its parts instead of to the end."""
    end = len(V.parts)
    yield
    added = V.parts[end:]
    del V.parts[end:]
    V.parts[place:place] = added


def after_camera(parts: Sequence[dict[str, Any]]) -> int:
    """The index behind the camera and what converts its frames, before any part that only looks at them.

    Not behind the last part that writes the image: some, like donkeycar's stop sign detector, draw into it after the
    pilot has seen it. A simulator's lap counter stands right behind it and belongs before us, because laps switch faults.
    """
    first = _first_writer(parts, channels.IMAGE)
    looks = _first_reader(parts, first, (channels.IMAGE,))
    return 1 + max(i for i in range(first, looks) if _touches(parts[i]["outputs"], (channels.IMAGE, channels.LAP)))


def after_last_image(parts: Sequence[dict[str, Any]]) -> int:
    """The index behind the last part that writes the image before the commands are sent."""
    return 1 + max(i for i in range(before_drivetrain(parts)) if channels.IMAGE in parts[i]["outputs"])


def before_drivetrain(parts: Sequence[dict[str, Any]]) -> int:
    """The index before the first part that takes steering or throttle without changing it, after both are known.

    Without such a part (a simulator takes the commands at the start of the next loop) it is the end.
    """
    return _first_reader(parts, max(_first_writer(parts, name) for name in COMMANDS), COMMANDS)


def _first_writer(parts: Sequence[dict[str, Any]], name: str) -> int:
    for index, entry in enumerate(parts):
        if name in entry["outputs"]:
            return index
    raise AiccError(
        f"no part of the vehicle outputs {name}: call add_aicc after camera, pilot, drive mode and drivetrain are added, "
        "right before the tub"
    )


def _first_reader(parts: Sequence[dict[str, Any]], after: int, names: Sequence[str]) -> int:
    """The first part behind `after` that reads one of the channels and writes none of them."""
    for index in range(after + 1, len(parts)):
        if _touches(parts[index]["inputs"], names) and not _touches(parts[index]["outputs"], names):
            return index
    return len(parts)


def _touches(given: Sequence[str | None], names: Sequence[str]) -> bool:
    return any(name in names for name in given)


PROFILE_TICKS = 4_000  # that are remembered, at least half of them


class _Newest(list):  # type: ignore[type-arg]  # donkeycar takes slices of it
    def append(self, value: float) -> None:
        if len(self) >= PROFILE_TICKS:
            del self[: PROFILE_TICKS // 2]
        super().append(value)


def shorten_profile(V: Any) -> None:
    """Before the vehicle starts: the summary at its end is about the newest ticks. A profiler of somebody else's stays."""
    profiler: Any = getattr(V, "profiler", None)
    if type(profiler).__name__ != "PartProfiler":
        return

    def profile_part(part: Any) -> None:
        profiler.records[part] = {"times": _Newest()}

    for part in list(profiler.records):  # those that are added already
        profile_part(part)
    profiler.profile_part = profile_part


_CLOCK = SimpleNamespace(time=time.monotonic, sleep=time.sleep)


def steady_loop(V: Any) -> None:
    """Give the loop a clock that only goes forward. A vehicle with another loop than donkeycar's keeps its own."""
    from donkeycar import vehicle  # here: it prints a banner, and commands that drive nothing need none

    if isinstance(V, vehicle.Vehicle):
        vehicle.time = _CLOCK
