"""manifest.json of a bundle: what the weights are, what they were made of, how good they are. Readable without torch."""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import donkey_aicc
from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_json
from donkey_aicc.untrusted import read_untrusted_json

MANIFEST = "manifest.json"
KIND = "donkey_aicc bundle"
SCHEMA_VERSION = 1
WEIGHT_FILES = {"vae": "vae.safetensors", "dynamics": "dynamics.safetensors", "safety": "safety.safetensors"}
CALIBRATOR = "calibrator.json"
CONTEXT = 100  # frames of history that the scores look at
SINGLE, HISTORY, NO_PREDICTOR = "single", "history", "none"  # kinds of safety predictor


@dataclass
class Manifest:
    """Everything a bundle needs to be used again; `files` is filled in by `save_bundle`."""

    horizons: list[int]
    action_stats: dict[str, list[float]]  # mean and std of (steering, throttle)
    image_size: int = 64
    context: int = CONTEXT
    tau: float | None = None  # |cte - cte_centre| <= tau is safe, in the unit of the recorded cte; None: labels given otherwise
    cte_centre: float = 0.0
    lane_half_width: float | None = None  # |cte - cte_centre| beyond it is a departure; None: known by other labels, or not
    predictor: str = SINGLE  # HISTORY: looks at `lags`; NO_PREDICTOR: trained without labels, no p_safe and no confidence
    lags: list[int] = field(default_factory=lambda: [0])  # how many frames back the predictor looks, the newest first
    preset: str = ""
    settings: dict[str, Any] = field(default_factory=dict)  # every value used for training
    overrides: dict[str, Any] = field(default_factory=dict)  # the ones that differ from the preset
    seeds: dict[str, int] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)  # fingerprint, frames, label source
    split: dict[str, list[str]] = field(default_factory=dict)  # side -> sequence ids
    metrics: dict[str, Any] = field(default_factory=dict)
    gate: dict[str, Any] = field(default_factory=dict)  # is the rollout better than guessing?
    precision: dict[str, Any] = field(default_factory=dict)  # measured change of each net's output by its stored precision
    warnings: list[str] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> sha256, bytes, dtype
    kind: str = KIND
    schema_version: int = SCHEMA_VERSION
    package_version: str = donkey_aicc.__version__

    @property
    def gate_passed(self) -> bool:
        """False also when the gate was never measured."""
        return bool(self.gate.get("passed", False))

    @property
    def has_predictor(self) -> bool:
        """False for a bundle trained without labels: rho, delta and the alarm only."""
        return self.predictor != NO_PREDICTOR

    @property
    def weight_files(self) -> dict[str, str]:
        """Net -> file, of the nets that this bundle has."""
        return {name: file for name, file in WEIGHT_FILES.items() if name != "safety" or self.has_predictor}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    write_json(folder / MANIFEST, manifest.to_json())


def read_manifest(path: str | Path) -> Manifest:
    """The manifest of the bundle folder; refuses what is no bundle, is damaged, or was made by a newer version."""
    folder = Path(path)
    stored = _stored_manifest(folder)
    if not isinstance(stored, dict) or stored.get("kind") != KIND:
        raise AiccError(f"{folder} is not a model bundle: its {MANIFEST} describes something else")
    version = stored.get("schema_version")
    if not isinstance(version, int) or version < 1:
        raise AiccError(f"{folder / MANIFEST}: schema_version must be a number >= 1, got {version!r}; train the bundle again")
    if version > SCHEMA_VERSION:
        raise AiccError(
            f"{folder} is too new: bundle schema {version}, made by donkey_aicc {stored.get('package_version')}, while this is "
            f"{donkey_aicc.__version__} which reads up to {SCHEMA_VERSION}; update with: pip install --upgrade donkey_aicc"
        )
    known = {column.name for column in fields(Manifest)}
    try:
        manifest = Manifest(**{name: value for name, value in stored.items() if name in known})
    except TypeError as error:
        raise AiccError(f"{folder / MANIFEST} is incomplete ({error}); copy the bundle again or retrain it") from error
    _check_files_listed(folder, manifest)
    _check_lags(folder, manifest.lags)
    return manifest


def _stored_manifest(folder: Path) -> Any:
    if not folder.exists():
        raise AiccError(f"no bundle at {folder}; make one with: donkey-aicc train TUB... --out {folder}")
    if not folder.is_dir():
        raise AiccError(f"{folder} is a file; give the bundle's folder")
    try:
        return read_untrusted_json(folder / MANIFEST)
    except FileNotFoundError:
        raise AiccError(f"{folder} is not a model bundle: it has no {MANIFEST}") from None
    except OSError as error:
        raise AiccError(f"cannot read {folder / MANIFEST}: {error}") from error
    except AiccError as error:
        raise AiccError(f"{folder / MANIFEST} is truncated or damaged ({error}); copy the bundle again") from error


def _check_files_listed(folder: Path, manifest: Manifest) -> None:
    if not isinstance(manifest.files, dict):
        raise AiccError(f"{folder / MANIFEST}: files must be a table of file hashes, got {manifest.files!r}")
    for name in manifest.weight_files.values():
        entry = manifest.files.get(name)
        if not isinstance(entry, dict) or "sha256" not in entry or "bytes" not in entry:
            raise AiccError(f"{folder / MANIFEST} holds no hash of {name}; copy the bundle again or retrain it")


def _check_lags(folder: Path, lags: Any) -> None:
    whole = isinstance(lags, list) and all(type(lag) is int for lag in lags)
    if not whole or lags[:1] != [0] or lags != sorted(set(lags)) or lags[-1] > CONTEXT:
        raise AiccError(f"{folder / MANIFEST}: lags must be frame counts 0 < ... <= {CONTEXT} that begin with 0, got {lags!r}")
