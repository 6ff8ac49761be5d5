"""manifest.json of a bundle: what the weights are, what they were made of, how good they are. Readable without torch."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import donkey_aicc
from donkey_aicc.errors import AiccError
from donkey_aicc.files import write_json
from donkey_aicc.untrusted import read_untrusted_json

MANIFEST = "manifest.json"
KIND = "donkey_aicc bundle"
SCHEMA_VERSION = 1
WEIGHT_FILES = {"vae": "vae.safetensors", "dynamics": "dynamics.safetensors", "safety": "safety.safetensors"}
CALIBRATOR, NOMINAL = "calibrator.json", "nominal.npz"  # the second: nominal rows that the first was fitted on
# What changes the meaning of a bundle's numbers; the other fields are for people.
_MEANING = ("horizons", "action_stats", "image_size", "context", "tau", "cte_centre", "lane_half_width", "predictor", "lags")
MOST_FRAMES = 10_000
CONTEXT = 100  # frames of history that the scores look at
SINGLE, HISTORY, OWN, NO_PREDICTOR = "single", "history", "own", "none"  # kinds of safety predictor


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
    own: dict[str, Any] = field(default_factory=dict)  # of its owner's predictor: name, and what it says about made-up frames
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
    meaning: str = ""  # `fingerprint` when it was written
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
        return {name: file for name, file in WEIGHT_FILES.items() if name != "safety" or self.predictor in (SINGLE, HISTORY)}

    @property
    def fingerprint(self) -> str:
        """One hash over the weights of all nets and everything else that changes what their numbers mean."""
        means: dict[str, Any] = {name: getattr(self, name) for name in _MEANING}
        if self.own:
            means["own"] = self.own
        means["files"] = {name: entry.get("sha256") for name, entry in self.files.items()}
        return hashlib.sha256(json.dumps(means, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"meaning": self.fingerprint}


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
    _check_kinds(folder, manifest)
    _check_files_listed(folder, manifest)
    _check_frames(folder, manifest)
    if manifest.meaning != manifest.fingerprint:
        raise AiccError(f"{folder / MANIFEST} was changed by hand or damaged: what it means is not what was saved; copy it again")
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


def _check_kinds(folder: Path, manifest: Manifest) -> None:
    """Every field holds what the class above says."""
    for name, kind in get_type_hints(Manifest).items():
        if not _fits(getattr(manifest, name), kind):
            said = str(getattr(kind, "__name__", kind) if isinstance(kind, type) else kind)
            raise AiccError(f"{folder / MANIFEST}: {name} must be {said}, got {getattr(manifest, name)!r}")


def _fits(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    if isinstance(kind, UnionType):
        return any(_fits(value, each) for each in get_args(kind))
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(each, get_args(kind)[0]) for each in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(_fits(each, get_args(kind)[1]) for each in value.values())
    return type(value) in ((int, float) if kind is float else (kind,))


def _check_files_listed(folder: Path, manifest: Manifest) -> None:
    for name in manifest.weight_files.values():
        if not _is_hash(manifest.files.get(name)):
            raise AiccError(f"{folder / MANIFEST} holds no hash of {name}; copy the bundle again or retrain it")


def _check_frames(folder: Path, manifest: Manifest) -> None:
    """Counts of frames: how far ahead, how far back, how much history."""
    horizons, lags = manifest.horizons, manifest.lags
    if not horizons or horizons != sorted(set(horizons)) or not 1 <= horizons[0] <= horizons[-1] <= MOST_FRAMES:
        raise AiccError(f"{folder / MANIFEST}: horizons must be frame counts 1 <= ... <= {MOST_FRAMES}, got {horizons!r}")
    if not 1 <= manifest.context <= MOST_FRAMES:
        raise AiccError(f"{folder / MANIFEST}: context must be from 1 to {MOST_FRAMES} frames, got {manifest.context}")
    if lags[:1] != [0] or lags != sorted(set(lags)) or lags[-1] > CONTEXT:
        raise AiccError(f"{folder / MANIFEST}: lags must be frame counts 0 < ... <= {CONTEXT} that begin with 0, got {lags!r}")


def _is_hash(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("sha256"), str) and isinstance(entry.get("bytes"), int)
