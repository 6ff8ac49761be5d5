"""From the nets that training makes to a bundle, and back to train them further."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from donkey_aicc.errors import AiccError
from donkey_aicc.files import exchange, remove_leftovers, save_tensors, sha256_of
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN, convolution_channels
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import MANIFEST, WEIGHT_FILES, Manifest, write_manifest
from donkey_aicc.nets.preprocess import input_channels


@dataclass(frozen=True)
class Nets:
    """The nets that make up a bundle; without labels there is no safety predictor."""

    vae: VAE
    dynamics: LatentDynamics
    safety: SafetyCNN | None

    def by_name(self) -> dict[str, nn.Module]:
        found: dict[str, nn.Module | None] = {"vae": self.vae, "dynamics": self.dynamics, "safety": self.safety}
        return {name: net for name, net in found.items() if net is not None}


def load_nets(bundle: Bundle) -> Nets:
    """The nets of a bundle in evaluation mode, to be trained further."""
    states = {net: bundle.weights(net) for net in bundle.manifest.weight_files}
    horizons, channels = len(bundle.horizons), input_channels(bundle.lags)
    makers: dict[str, Callable[[], nn.Module]] = {
        "vae": VAE,
        "dynamics": LatentDynamics,
        "safety": lambda: SafetyCNN(horizons, convolution_channels(states["safety"]), channels),
    }
    found = {name: _filled(make, states[name]) for name, make in makers.items() if name in states}
    return Nets(found["vae"], found["dynamics"], found.get("safety"))  # type: ignore[arg-type]


def _filled(make: Callable[[], nn.Module], weights: dict[str, np.ndarray]) -> nn.Module:
    with torch.device("meta"):  # no time for random weights that are overwritten at once
        net = make()
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
    full = {name: value.float() if value.is_floating_point() else value for name, value in tensors.items()}
    net.load_state_dict(full, strict=True, assign=True)
    return net.eval().requires_grad_(False)


def save_bundle(path: str | Path, nets: Nets, manifest: Manifest) -> Manifest:
    """Write the folder in one piece: it appears complete or not at all. Returns the manifest with the file hashes.

    An older bundle at the same place is replaced together with its calibrator, which no longer fits.
    """
    folder = Path(path)
    _refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.stem}.{os.getpid()}-", suffix=folder.suffix))
    try:
        files = {WEIGHT_FILES[name]: _write_weights(temporary / WEIGHT_FILES[name], net) for name, net in nets.by_name().items()}
        complete = replace(manifest, files=files)
        write_manifest(temporary, complete)
        os.chmod(temporary, 0o755)
        _replace_folder(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return complete


def _refuse_foreign(folder: Path) -> None:
    if folder.is_file():
        raise AiccError(f"cannot write a bundle to {folder}: it is a file")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise AiccError(f"{folder} exists and is not a model bundle; choose another --out, or empty it first")


def _write_weights(path: Path, net: nn.Module) -> dict[str, object]:
    state = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
    half = survives_half(state)
    if half:
        state = {name: value.half() if value.is_floating_point() else value for name, value in state.items()}
    save_tensors(path, state)
    with open(path, "rb") as written:
        os.fsync(written.fileno())
    os.chmod(path, 0o644)
    return {"sha256": sha256_of(path), "bytes": path.stat().st_size, "dtype": "float16" if half else "float32"}


def survives_half(state: dict[str, Tensor]) -> bool:
    """True if no value changes by being stored in 16 bits (training rounds the weights first where that costs nothing)."""
    return all(torch.equal(value.half().float(), value) for value in state.values() if value.is_floating_point())


def _replace_folder(new: Path, folder: Path) -> None:
    if not folder.exists():
        os.rename(new, folder)
        return
    if exchange(new, folder):  # the old bundle goes with the caller's temporary folder
        return
    old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.stem}.{os.getpid()}-old_", suffix=folder.suffix))
    os.rename(folder, old)  # over the empty directory
    try:
        os.rename(new, folder)
    except OSError:
        os.rename(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
