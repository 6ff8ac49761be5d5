"""Faults to learn from, driven in closed loop, and the registry of all faults by name.

None shares a family with the four test protocols. How the severities were set stands in docs/injection.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.faults.body import Body
from donkey_aicc.faults.corruptions import FAMILIES
from donkey_aicc.faults.protocols import PROTOCOLS, SEVERITIES, ProtocolParameters, changed


@dataclass(frozen=True)
class CorruptionParameters:
    """A visual family of D_aug on the camera's own frames; strength 0 changes nothing, 1 leaves little of the picture."""

    strength: float


@dataclass(frozen=True)
class SpeedMismatchParameters:
    """The car is faster than its pilot thinks: the throttle is multiplied."""

    throttle_factor: float


Parameters = ProtocolParameters | CorruptionParameters | SpeedMismatchParameters | Body

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
D_AUG_DRIVEN = {**VISUAL_FAULTS, **COMMAND_FAULTS, **PHYSICAL_FAULTS}
FAULTS: dict[str, dict[int, Any]] = {**PROTOCOLS, **D_AUG_DRIVEN}
IN_SOFTWARE = tuple(name for name in FAULTS if name not in PHYSICAL_FAULTS)


def parameters(fault: str, severity: int, overrides: Mapping[str, Any] | None = None) -> Parameters:
    """The row of the table, with the fields named in `overrides` replaced."""
    one_of("fault", fault, list(FAULTS))
    if severity not in SEVERITIES:
        raise ConfigError(f"severity of {fault} must be one of {', '.join(map(str, SEVERITIES))}; got {severity!r}")
    row = FAULTS[fault][severity]
    return _checked(fault, changed(fault, row, overrides)) if overrides else row


def _checked(fault: str, row: Any) -> Any:
    limits = {"strength": (0.0, 1.0), "grip": (0.01, 10.0), "pitch_deg": (0.0, 30.0)}
    for name, (least, most) in limits.items():
        if not least <= getattr(row, name, least) <= most:
            raise ConfigError(f"{fault} {name} must be from {least:g} to {most:g}, got {getattr(row, name)}")
    return row


def refuse_physical(fault: str) -> None:
    """Raise if the fault acts on the car itself, which no software can do to a real one."""
    if fault in PHYSICAL_FAULTS:
        raise ConfigError(
            f"{fault} acts on the car itself and works in the embedded simulator only; a real car can be given "
            + ", ".join(IN_SOFTWARE)
        )
