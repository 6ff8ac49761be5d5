"""The four test protocols and what each severity means, in one table of physically named parameters; and all other faults.

D_AUG_DRIVEN are to learn from, driven in closed loop; none shares a family with the test protocols. FIELD_FAULTS do, so nothing
may be fitted on them either. How the severities were set stands in docs/injection.md. Some change the car itself, not its
pictures or commands: only a simulated car can be broken like this.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.faults.corruptions import FAMILIES
from donkey_aicc.faults.field_faults import LostFramesParameters, OcclusionParameters, OverExposureParameters


@dataclass(frozen=True)
class Body:
    """The state of a car and its camera; the defaults are a sound car."""

    grip: float = 1.0  # factor on what the tyres hold: dust, wet floor
    steering_gain: float = 1.0  # factor on the angle of the wheels: a bent linkage
    drag: float = 1.0  # factor on the resistance: carpet, a tired battery
    pull_per_m: float = 0.0  # curvature that the car takes by itself, > 0 to the right: one wheel drags
    pitch_deg: float = 0.0  # the camera looks so much further down: a loose mount

    def with_faults_of(self, other: "Body") -> "Body":
        """Both at once."""
        return Body(
            self.grip * other.grip,
            self.steering_gain * other.steering_gain,
            self.drag * other.drag,
            self.pull_per_m + other.pull_per_m,
            self.pitch_deg + other.pitch_deg,
        )


SOUND = Body()


def all_at_once(bodies: Iterable[Body | None]) -> Body:
    """What several faults make of a car; None leaves it as it is."""
    return reduce(Body.with_faults_of, (body for body in bodies if body is not None), SOUND)


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


@dataclass(frozen=True)
class CorruptionParameters:
    """A visual family of D_aug on the camera's own frames; strength 0 changes nothing, 1 leaves little of the picture."""

    strength: float


@dataclass(frozen=True)
class SpeedMismatchParameters:
    """The car is faster than its pilot thinks: the throttle is multiplied."""

    throttle_factor: float


FieldParameters = LostFramesParameters | OcclusionParameters | OverExposureParameters
Parameters = ProtocolParameters | CorruptionParameters | SpeedMismatchParameters | Body | FieldParameters

VISUAL_STRENGTHS: dict[str, tuple[float, ...]] = {
    "jpeg": (0.61, 0.68, 0.77, 0.88, 1.0),
    "desaturation": (0.83, 0.87, 0.91, 0.96, 1.0),
    "fog": (0.3, 0.44, 0.54, 0.63, 0.71),
    "speckle": (0.28, 0.43, 0.57, 0.75, 1.0),
    "salt_and_pepper": (0.12, 0.25, 0.35, 0.47, 0.63),
    "pixelation": (0.15, 0.26, 0.32, 0.4, 0.55),
    "colour_jitter": (0.37, 0.58, 0.84, 0.92, 1.0),
    "frost": (0.31, 0.39, 0.43, 0.48, 0.54),
}


def _rows(rows: list[Parameters]) -> dict[int, Parameters]:
    return dict(zip(SEVERITIES, rows, strict=True))


VISUAL_FAULTS: dict[str, dict[int, Parameters]] = {
    family: _rows([CorruptionParameters(strength) for strength in VISUAL_STRENGTHS[family]]) for family in FAMILIES
}
COMMAND_FAULTS: dict[str, dict[int, Parameters]] = {
    "speed_mismatch": _rows([SpeedMismatchParameters(factor) for factor in (1.1, 1.2, 1.3, 1.45, 1.6)]),
}
PHYSICAL_FAULTS: dict[str, dict[int, Parameters]] = {
    "grip": _rows([Body(grip=factor) for factor in (0.6, 0.42, 0.33, 0.27, 0.22)]),
    "steering_gain": _rows([Body(steering_gain=factor) for factor in (0.88, 0.78, 0.68, 0.6, 0.52)]),
    "drag": _rows([Body(drag=factor) for factor in (1.15, 1.3, 1.5, 1.8, 2.2)]),
    "camera_pitch": _rows([Body(pitch_deg=angle) for angle in (1.0, 2.0, 3.0, 4.0, 5.5)]),
    "one_wheel": _rows([Body(pull_per_m=pull, drag=1.0 + pull) for pull in (0.1, 0.2, 0.3, 0.42, 0.55)]),
}
D_AUG_DRIVEN: dict[str, dict[int, Any]] = {**VISUAL_FAULTS, **COMMAND_FAULTS, **PHYSICAL_FAULTS}
FIELD_FAULTS: dict[str, dict[int, Any]] = {
    "frame_drop": _rows([LostFramesParameters(share, 0.0, 0.0) for share in (0.05, 0.1, 0.2, 0.35, 0.5)]),
    "frozen": _rows([LostFramesParameters(0.0, freeze_s, 8.0) for freeze_s in (0.25, 0.5, 1.0, 2.0, 4.0)]),
    "occlusion": _rows([OcclusionParameters(cover) for cover in (0.05, 0.1, 0.2, 0.35, 0.5)]),
    "over_exposure": _rows([OverExposureParameters(stops) for stops in (0.5, 1.0, 1.5, 2.2, 3.0)]),
}
# `register_fault` adds to this and to D_AUG_DRIVEN. The order counts: a fault's random numbers begin with its place.
FAULTS: dict[str, dict[int, Any]] = {**PROTOCOLS, **D_AUG_DRIVEN, **FIELD_FAULTS}


def in_software() -> tuple[str, ...]:
    """Faults that can be put into any car's frames or commands."""
    return tuple(name for name in FAULTS if name not in PHYSICAL_FAULTS)


def for_tests_only(names: Iterable[str]) -> list[str]:
    """Those of the names, as tubs hold them (`bias+blur`), that nothing may be fitted on."""
    single = {each for name in names for each in name.split("+")}
    return sorted(name for name in single if name in FAULTS and name not in D_AUG_DRIVEN)


def parameters(fault: str, severity: int, overrides: Mapping[str, Any] | None = None) -> Parameters:
    """The row of the table, with the fields named in `overrides` replaced."""
    one_of("fault", fault, list(FAULTS))
    if severity not in SEVERITIES:
        raise ConfigError(f"severity of {fault} must be one of {', '.join(map(str, SEVERITIES))}; got {severity!r}")
    row = FAULTS[fault][severity]
    if overrides and not is_dataclass(row):
        raise ConfigError(f"{fault} has no parameters that could be changed, got {', '.join(overrides)}")
    return _checked(fault, changed(fault, row, overrides)) if overrides else row


def _checked(fault: str, row: Any) -> Any:
    limits = {"strength": (0.0, 1.0), "grip": (0.01, 10.0), "pitch_deg": (0.0, 30.0), "drop_share": (0.0, 1.0)}
    limits |= {"cover": (0.0, 1.0), "stops": (0.0, 8.0)}
    for name, (least, most) in limits.items():
        if not least <= getattr(row, name, least) <= most:
            raise ConfigError(f"{fault} {name} must be from {least:g} to {most:g}, got {getattr(row, name)}")
    return row


def refuse_physical(fault: str) -> None:
    """Raise if the fault acts on the car itself, which no software can do to a real one."""
    if fault in PHYSICAL_FAULTS:
        raise ConfigError(
            f"{fault} acts on the car itself and works in the embedded simulator only; a real car can be given "
            + ", ".join(in_software())
        )
