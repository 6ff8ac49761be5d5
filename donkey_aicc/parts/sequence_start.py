"""SequenceStart: when the car is about to be put somewhere else, the monitor forgets what it saw."""

from typing import Protocol


class Forgetful(Protocol):
    """A part whose next frame may be the first of a new sequence."""

    def reset(self) -> None: ...


class SequenceStart:
    """Donkeycar part, after the scorer: a hit is the last frame of its sequence, in the tub as well."""

    def __init__(self, *parts: Forgetful) -> None:
        self._parts = parts

    def run(self, hit: bool | None) -> None:
        """The next frame starts a new sequence if the car has hit the wall."""
        if hit:
            for part in self._parts:
                part.reset()
