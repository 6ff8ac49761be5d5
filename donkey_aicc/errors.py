"""Errors meant for a person: the command line prints the message alone and exits with code 2."""

LONGEST_MESSAGE = 480
# What wrong types, sizes and missing keys in a stored table raise while it is taken apart.
DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class AiccError(Exception):
    """Something the user can put right; the message names the thing, the rule and the value.

    A value out of a damaged file may be thousands of characters long: the middle of such a message is left out.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(str(message)))


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
