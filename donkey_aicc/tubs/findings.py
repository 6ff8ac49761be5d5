"""What a reader found out about a tub, in words for a person and with a code for a machine."""

from dataclasses import dataclass

NOTE = "note"  # worth knowing, nothing lost
LOSS = "loss"  # records, labels or values were dropped or changed
FATAL = "fatal"  # nothing can be used


@dataclass(frozen=True)
class Finding:
    """One observation; `count` says how many records, files or values it concerns."""

    level: str
    code: str
    message: str
    count: int = 1


def found(level: str, code: str, message: str, count: int = 1) -> list[Finding]:
    """A list with the finding, or an empty one if it concerns nothing: `findings += found(...)`."""
    return [Finding(level, code, message, int(count))] if count else []
