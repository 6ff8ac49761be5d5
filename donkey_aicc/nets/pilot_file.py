"""A vision pilot on disk.

A pilot is a folder with `pilot.safetensors` (the weights) and `manifest.json` (what they are and their hash), or the
`.safetensors` file alone.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path, sha256_of, write_json
from donkey_aicc.nets.tensor_file import save_tensors
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from donkey_aicc.nets.pilot_net import PilotNet

WEIGHTS_NAME = "pilot.safetensors"
MANIFEST_NAME = "manifest.json"
FORMAT = "donkey_aicc.pilot"
VERSION = 1

# Layers of PilotNet, in order: a convolution's weight (out, in, k, k) and stride, a linear layer's weight (out, in).
CONVOLUTIONS = {
    "convolutions.0": ((24, 3, 5, 5), 2),
    "convolutions.2": ((36, 24, 5, 5), 2),
    "convolutions.4": ((48, 36, 5, 5), 2),
    "convolutions.6": ((64, 48, 3, 3), 1),
}
HEAD = {"head.1": (100, 64 * 3 * 3), "head.3": (50, 100), "head.5": (2, 50)}


def save_pilot(folder: str | Path, net: "PilotNet", about: dict[str, Any]) -> None:
    """Write the pilot's folder; `about` says how it was made (data, seeds, results) and goes into the manifest."""
    folder = Path(folder)
    weights = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
    with atomic_path(folder / WEIGHTS_NAME) as temporary:
        save_tensors(temporary, weights, metadata={"format": FORMAT, "version": str(VERSION)})
    manifest = {"format": FORMAT, "version": VERSION, "sha256": sha256_of(folder / WEIGHTS_NAME), "about": about}
    write_json(folder / MANIFEST_NAME, manifest)


def load_pilot(path: str | Path) -> "PilotNet":
    """The torch net in evaluation mode, for training it further."""
    import torch

    from donkey_aicc.nets.pilot_net import PilotNet

    net = PilotNet()
    net.load_state_dict({name: torch.from_numpy(value) for name, value in pilot_weights(path).items()}, strict=True)
    return net.eval()


def pilot_weights(path: str | Path) -> dict[str, np.ndarray]:
    """The weights by name from a pilot's folder or .safetensors file; every one is checked."""
    from safetensors import SafetensorError, safe_open

    file = _weights_file(Path(path).expanduser())
    try:
        with safe_open(file, framework="np") as stored:
            metadata = stored.metadata() or {}
            weights = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, TypeError, ValueError) as error:  # numpy has no type for some of the format's
        raise AiccError(f"the pilot file {file} is corrupt or no safetensors file: {error}") from error
    if metadata.get("format") != FORMAT or metadata.get("version") != str(VERSION):
        found = f"format {metadata.get('format')!r} version {metadata.get('version')!r}"
        raise AiccError(
            f"{file} must be a {FORMAT} file of version {VERSION}, got {found}; train one with donkey-aicc train-pilot"
        )
    _check_weights(file, weights)
    return weights


def _check_weights(file: Path, weights: dict[str, np.ndarray]) -> None:
    layers = {name: shape for name, (shape, _) in CONVOLUTIONS.items()} | HEAD
    expected = {f"{name}.weight": shape for name, shape in layers.items()} | {
        f"{name}.bias": shape[:1] for name, shape in layers.items()
    }
    found = {name: value.shape for name, value in weights.items()}
    wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if wrong:
        raise AiccError(f"the pilot file {file} does not fit the pilot net: missing, unknown or of another shape: {wrong}")
    broken = [name for name, value in weights.items() if not (value.dtype.kind == "f" and np.isfinite(value).all())]
    if broken:
        raise AiccError(f"the pilot file {file} is corrupt: not a number in {', '.join(broken)}")


def _weights_file(path: Path) -> Path:
    """The weights of a folder or file, checked against the folder's manifest when there is one."""
    file = path / WEIGHTS_NAME if path.is_dir() else path
    if not file.is_file():
        raise AiccError(f"no pilot at {path}: it must be a .safetensors file or a folder with {WEIGHTS_NAME}")
    manifest = path / MANIFEST_NAME
    if path.is_dir() and manifest.is_file():
        try:
            expected = read_untrusted_json(manifest)["sha256"]
        except (AiccError, KeyError, TypeError, OSError) as error:
            raise AiccError(f"{manifest} is corrupt: it must be JSON with the weights' sha256 ({error!r})") from error
        if sha256_of(file) != expected:
            raise AiccError(f"the pilot file {file} is corrupt: its hash differs from the one in {manifest}")
    return file
