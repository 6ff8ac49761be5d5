"""Errors meant for a person: the command line prints the message alone and exits with code 2."""


class AiccError(Exception):
    """Something the user can put right; the message names the thing, the rule and the value."""


class ConfigError(AiccError, ValueError):
    """A setting that cannot work."""


def one_of(name: str, value: object, allowed: list[str] | tuple[str, ...]) -> None:
    """Raise ConfigError unless value is one of the allowed names."""
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
