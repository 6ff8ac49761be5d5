"""Errors meant for a person: the command line prints the message alone and exits with code 2."""

import re

LONGEST_MESSAGE = 480
# What a terminal obeys instead of showing it, and what turns the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What wrong types, sizes and missing keys in a stored table raise while it is taken apart.
DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class AiccError(Exception):
    """Something the user can put right; the message names the thing, the rule and the value.

    A value out of a damaged file may be thousands of characters long: the middle of such a message is left out.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(printable(str(message))))


def printable(text: str) -> str:
    """The text as it may go to a terminal: a name out of a stranger's file cannot move its cursor or change its title."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """The text on one readable length: its beginning and its end, where the advice stands."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 5]} ... {text[-end:]}"


class ConfigError(AiccError, ValueError):
    """A setting that cannot work."""


def one_of(name: str, value: object, allowed: list[str] | tuple[str, ...]) -> None:
    """Raise ConfigError unless value is one of the allowed names."""
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
