"""The four test protocols and what each severity means, in one table of physically named parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from donkey_aicc.errors import ConfigError, one_of

SEVERITIES = (1, 2, 3, 4, 5)
Row = TypeVar("Row")


@dataclass(frozen=True)
class DarkParameters:
    """The light goes down to `luminance_factor`; the camera's exposure makes up for some of it within half a second."""

    luminance_factor: float


@dataclass(frozen=True)
class BlurParameters:
    """The lens loses focus: Gaussian blur, sigma in pixels of a 160 pixel wide frame."""

    sigma_px: float


@dataclass(frozen=True)
class BiasParameters:
    """The drive train is off: a lasting offset (its steering sign is drawn per episode) plus Gaussian noise in every tick."""

    steering_offset: float
    throttle_offset: float
    steering_noise_std: float
    throttle_noise_std: float


@dataclass(frozen=True)
class LatencyParameters:
    """The links are slow: frames late by a drifting delay, the feed standing still now and then, commands late.

    The frame delay starts anywhere in [delay_min_s, delay_max_s] and wanders inside it. About every `freeze_every_s` the
    feed shows one frame for `freeze_s`, then goes on with what is current. Commands arrive `command_delay_s` late.
    """

    delay_min_s: float
    delay_max_s: float
    freeze_s: float
    freeze_every_s: float
    command_delay_s: float


ProtocolParameters = DarkParameters | BlurParameters | BiasParameters | LatencyParameters

PROTOCOLS: dict[str, dict[int, ProtocolParameters]] = {
    "dark": {
        1: DarkParameters(0.085),
        2: DarkParameters(0.047),
        3: DarkParameters(0.031),
        4: DarkParameters(0.019),
        5: DarkParameters(0.01),
    },
    "blur": {
        1: BlurParameters(1.7),
        2: BlurParameters(2.8),
        3: BlurParameters(3.8),
        4: BlurParameters(4.7),
        5: BlurParameters(6.5),
    },
    "bias": {
        1: BiasParameters(0.05, 0.005, 0.03, 0.003),
        2: BiasParameters(0.09, 0.01, 0.045, 0.005),
        3: BiasParameters(0.13, 0.013, 0.065, 0.007),
        4: BiasParameters(0.18, 0.018, 0.09, 0.009),
        5: BiasParameters(0.24, 0.024, 0.12, 0.012),
    },
    "latency": {
        1: LatencyParameters(0.1, 0.2, 0.5, 2.0, 0.1),
        2: LatencyParameters(0.1, 0.2, 0.5, 2.0, 0.15),
        3: LatencyParameters(0.15, 0.25, 0.5, 2.0, 0.15),
        4: LatencyParameters(0.15, 0.3, 0.6, 2.0, 0.2),
        5: LatencyParameters(0.25, 0.4, 0.7, 2.0, 0.25),
    },
}


def changed(protocol: str, row: Row, overrides: Mapping[str, Any]) -> Row:
    """The row with the fields named in `overrides` replaced by numbers >= 0."""
    allowed = [field.name for field in fields(row)]  # type: ignore[arg-type]
    for name, value in overrides.items():
        one_of(f"parameter of {protocol}", name, allowed)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < float("inf"):
            raise ConfigError(f"{protocol} {name} must be a finite number >= 0, got {value!r}")
    values: dict[str, Any] = {name: float(value) for name, value in overrides.items()}
    result = replace(row, **values)  # type: ignore[type-var]
    if isinstance(result, LatencyParameters):
        _check_latency(result)
    return result


def _check_latency(row: LatencyParameters) -> None:
    if row.delay_min_s > row.delay_max_s:
        raise ConfigError(f"latency delay_min_s must be <= delay_max_s, got {row.delay_min_s} > {row.delay_max_s}")
    if row.freeze_s and row.freeze_every_s <= row.freeze_s:
        raise ConfigError(f"latency freeze_every_s must be > freeze_s, got {row.freeze_every_s} <= {row.freeze_s}")
