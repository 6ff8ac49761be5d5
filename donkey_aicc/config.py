"""The AICC_* keys of a car's myconfig.py -> one validated, frozen object.

A new key is one line in `AiccConfig`: the field `tta_views` is the key AICC_TTA_VIEWS. Its annotation is the type check,
`setting` holds the default, the range and the explanation.
"""

import dataclasses
import difflib
import math
import types
import typing
from typing import Any

from donkey_aicc.errors import ConfigError

PREFIX = "AICC_"


def setting(
    default: Any, help: str, *, at_least: float | None = None, at_most: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """A dataclass field with its rule; `help` is one line for a person."""
    metadata = {"help": help, "at_least": at_least, "at_most": at_most, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class AiccConfig:
    """Every setting of ours, checked on construction."""

    sim: bool = setting(False, "drive the embedded simulator instead of camera and motors")
    sim_track: str = setting("loop", "the simulator's track: a shipped name or seed:<number>")
    sim_seed: int = setting(0, "seed of noise, light and wander; same seed and commands, same drive", at_least=0)
    sim_realtime: bool = setting(False, "pace the simulator by the wall clock instead of one step per drive loop")
    sim_put_back: bool = setting(
        True, "at a wall put the car back on the track and go on in a new tub session; False ends the drive there"
    )
    control_threads: int = setting(1, "CPU threads for the networks in the drive loop", at_least=1, at_most=64)

    def __post_init__(self) -> None:
        kinds = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value = _checked(key_of(field), getattr(self, field.name), kinds[field.name], field.metadata)
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_donkey(cls, cfg: object) -> "AiccConfig":
        """Read all AICC_* keys of a donkeycar config; an unknown one is an error, because it would do nothing."""
        fields = {key_of(field): field.name for field in dataclasses.fields(cls)}
        given = {key: getattr(cfg, key) for key in dir(cfg) if key.startswith(PREFIX)}
        for key in given:
            if key not in fields:
                close = difflib.get_close_matches(key, fields, n=1)
                hint = f" Did you mean {close[0]}?" if close else ""
                raise ConfigError(f"unknown setting {key}.{hint} Allowed: {', '.join(fields)}")
        return cls(**{fields[key]: value for key, value in given.items()})


def key_of(field: dataclasses.Field) -> str:
    """The name a user writes in myconfig.py."""
    return PREFIX + field.name.upper()


def _checked(key: str, value: Any, kind: Any, rule: typing.Mapping[str, Any]) -> Any:
    """The value in its declared type, or a ConfigError with the key, the rule and the value."""
    allowed = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in allowed:
        return None
    expected = next(each for each in allowed if each is not type(None))
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not expected:
        raise ConfigError(f"{key} must be {_in_words(allowed)}, got {value!r}")
    if expected is float and not math.isfinite(value):
        raise ConfigError(f"{key} must be a finite number, got {value!r}")
    if rule["at_least"] is not None and value < rule["at_least"]:
        raise ConfigError(f"{key} must be >= {rule['at_least']}, got {value!r}")
    if rule["at_most"] is not None and value > rule["at_most"]:
        raise ConfigError(f"{key} must be <= {rule['at_most']}, got {value!r}")
    if rule["choices"] and value not in rule["choices"]:
        raise ConfigError(f"{key} must be one of {', '.join(rule['choices'])}; got {value!r}")
    return value


def _in_words(allowed: tuple[Any, ...]) -> str:
    words = {bool: "True or False", int: "a whole number", float: "a number", str: "a text", type(None): "None"}
    return " or ".join(words.get(each, str(each)) for each in allowed)
