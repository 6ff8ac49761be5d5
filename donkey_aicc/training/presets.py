"""Training settings: three named presets, every value of which can be overridden by `section.name=value`."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from donkey_aicc.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class NetSettings:
    """Of any net; all that the safety predictor has."""

    epochs: int
    batch: int
    lr: float
    lr_final: float = 1e-6
    weight_decay: float = 1e-5
    clip: float = 1.0


@dataclass(frozen=True, kw_only=True)
class VaeSettings(NetSettings):
    frames: int = 0  # per epoch, drawn anew in each; 0: all
    beta: float = 1e-4  # weight of the KL term per latent value against the squared error per pixel


@dataclass(frozen=True, kw_only=True)
class DynamicsSettings(NetSettings):
    weight_decay: float = 1e-4
    context: int  # true frames shown first
    target: int  # frames predicted after them
    windows: int  # per epoch, drawn anew in each; at most one per possible start
    context_grad: int = 100  # how far back into the context the gradient reaches
    forcing_epochs: float = 2 / 3  # share of the epochs over which teacher forcing fades from 1 to 0
    curriculum_epochs: float = 0.5  # share of the epochs over which the predicted stretch grows to `target`
    first_target: int = 10  # predicted stretch in the first epoch


@dataclass(frozen=True)
class Preset:
    """All values of one training."""

    name: str
    vae: VaeSettings
    dynamics: DynamicsSettings
    safety: NetSettings

    def to_json(self) -> dict[str, Any]:
        """Nested dictionary without the name."""
        return {section: asdict(getattr(self, section)) for section in SECTIONS}


SECTIONS = ("vae", "dynamics", "safety")

PRESETS = {
    # as published
    "paper": Preset(
        "paper",
        VaeSettings(epochs=50, batch=32, lr=1e-3),
        DynamicsSettings(epochs=60, batch=64, lr=1e-4, context=100, target=100, windows=1280),
        NetSettings(epochs=50, batch=128, lr=1e-3),
    ),
    # a usable bundle from about 20k frames on two CPU cores in well under an hour
    "quick": Preset(
        "quick",
        VaeSettings(epochs=6, batch=32, lr=2e-3),
        DynamicsSettings(
            epochs=18, batch=32, lr=2e-3, lr_final=2e-5, context=20, target=50, windows=384, context_grad=4, first_target=8
        ),
        NetSettings(epochs=10, batch=64, lr=1e-3),
    ),
    # seconds, for tests: runs every line, learns next to nothing
    "tiny": Preset(
        "tiny",
        VaeSettings(epochs=2, batch=16, lr=2e-3),
        DynamicsSettings(epochs=2, batch=4, lr=1e-3, context=4, target=6, windows=8, context_grad=2, first_target=3),
        NetSettings(epochs=2, batch=16, lr=1e-3),
    ),
}


def preset_named(name: str, overrides: Iterable[str] = ()) -> tuple[Preset, dict[str, Any]]:
    """The preset with `section.name=value` overrides applied, and those overrides as a flat dictionary."""
    if name not in PRESETS:
        raise ConfigError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    preset, applied = PRESETS[name], {}
    for text in overrides:
        key, value = _parsed(preset, text)
        section, field_name = key.split(".")
        preset = replace(preset, **{section: replace(getattr(preset, section), **{field_name: value})})
        applied[key] = value
    _check(preset)
    return preset, applied


def setting_names() -> list[str]:
    """Everything `--set` knows, such as `vae.epochs`."""
    return [f"{section}.{column.name}" for section in SECTIONS for column in fields(getattr(PRESETS["paper"], section))]


def _parsed(preset: Preset, text: str) -> tuple[str, int | float]:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or key not in setting_names():
        raise ConfigError(f"--set must be NAME=VALUE with NAME one of {', '.join(setting_names())}; got {text!r}")
    section, field_name = key.split(".")
    kind = type(getattr(getattr(preset, section), field_name))
    try:
        return key, kind(value)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise ConfigError(f"--set {key} must be {expected}, got {value!r}") from None


def _check(preset: Preset) -> None:
    for section in SECTIONS:
        values = asdict(getattr(preset, section))
        for name in ("epochs", "batch", "context", "target", "windows", "first_target"):
            if name in values and values[name] < 1:
                raise ConfigError(f"{section}.{name} must be >= 1, got {values[name]}")
        for name, value in values.items():
            if not 0 <= value < float("inf"):  # also NaN
                raise ConfigError(f"{section}.{name} must be a finite number >= 0, got {value}")
        if not 0 < values["lr"] <= 1 or values["clip"] <= 0:
            raise ConfigError(f"{section}.lr must be in (0, 1] and {section}.clip > 0, got {values['lr']} and {values['clip']}")
    if preset.vae.batch < 2 or preset.safety.batch < 2:
        raise ConfigError("vae.batch and safety.batch must be >= 2, because batch normalisation needs several frames")
