"""What to inject and when, as a person writes it: `dark:3`, `bias:2@10s-25s,blur:4@lap2`."""

import re
from dataclasses import dataclass

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.driven import FAULTS, parameters

FORM = (
    "FAULT:SEVERITY[@WHEN], separated by commas; FAULT is one of "
    + ", ".join(FAULTS)
    + "; SEVERITY 1-5; WHEN is seconds (10s-25s or 10s-), laps (lap2 or lap2-4, the first lap is lap1) or ticks (100-300)"
)

_WHEN = {
    "s": re.compile(r"^(\d+(?:\.\d+)?)s-(?:(\d+(?:\.\d+)?)s)?$"),
    "lap": re.compile(r"^lap(\d+)(?:-(?:lap)?(\d+))?$"),
    "tick": re.compile(r"^(\d+)-(\d+)?$"),
}


@dataclass(frozen=True)
class Episode:
    """Play a protocol while start <= now < stop; `unit` says whether that is seconds ('s'), laps ('lap') or ticks ('tick')."""

    protocol: str
    severity: int
    start: float = 0.0
    stop: float = float("inf")
    unit: str = "s"

    def is_due(self, seconds: float, tick: int, lap: float | None) -> bool:
        """Whether the episode is on now. Laps count from 1; a lap episode waits for ever on a car that counts no laps."""
        now = {"s": seconds, "tick": float(tick), "lap": lap}[self.unit]
        return now is not None and self.start <= now < self.stop

    def __str__(self) -> str:
        head = f"{self.protocol}:{self.severity}"
        if self.unit == "lap":
            last = int(self.stop) - 1
            return f"{head}@lap{self.start:g}" + (f"-{last}" if last > self.start else "")
        if self.start == 0.0 and self.stop == float("inf"):
            return head
        unit = "s" if self.unit == "s" else ""
        return f"{head}@{self.start:g}{unit}-" + (f"{self.stop:g}{unit}" if self.stop < float("inf") else "")


def parse_schedule(text: str | None) -> tuple[Episode, ...]:
    """The episodes of a schedule; None or an empty text means none."""
    pieces = [piece.strip() for piece in (text or "").split(",")]
    return tuple(_parse_piece(piece) for piece in pieces if piece)


def _parse_piece(piece: str) -> Episode:
    what, at, when = piece.partition("@")
    protocol, colon, severity = (part.strip() for part in what.partition(":"))
    if not colon or not severity.isdecimal():
        raise _wrong(piece, "it must start with a fault and a severity, such as dark:3")
    try:
        parameters(protocol, int(severity))
    except ConfigError as error:
        raise _wrong(piece, str(error)) from None
    if not at:
        return Episode(protocol, int(severity))
    unit, start, stop = _parse_when(piece, when.strip())
    return Episode(protocol, int(severity), start, stop, unit)


def _parse_when(piece: str, when: str) -> tuple[str, float, float]:
    for unit, pattern in _WHEN.items():
        found = pattern.match(when)
        if found is None:
            continue
        start, stop = float(found[1]), float(found[2]) if found[2] else float("inf")
        if unit == "lap":  # both laps belong to the episode
            if start < 1:
                raise _wrong(piece, "the first lap is lap1")
            stop = (stop if found[2] else start) + 1
        if stop <= start:
            raise _wrong(piece, f"it must end after it starts, got {when}")
        return unit, start, stop
    raise _wrong(piece, f"{when!r} is no time")


def _wrong(piece: str, reason: str) -> ConfigError:
    return ConfigError(f"injection {piece!r}: {reason}. The form is {FORM}")
