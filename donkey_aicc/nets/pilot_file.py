"""A vision pilot on disk.

A pilot is a folder with `pilot.safetensors` (the weights) and `manifest.json` (what they are and their hash), or the
`.safetensors` file alone.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path, sha256_of, write_json
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from donkey_aicc.nets.pilot_net import PilotNet

WEIGHTS_NAME = "pilot.safetensors"
MANIFEST_NAME = "manifest.json"
FORMAT = "donkey_aicc.pilot"
VERSION = 1


def save_pilot(folder: str | Path, net: "PilotNet", about: dict[str, Any]) -> None:
    """Write the pilot's folder; `about` says how it was made (data, seeds, results) and goes into the manifest."""
    from safetensors.torch import save_file

    folder = Path(folder)
    weights = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
    with atomic_path(folder / WEIGHTS_NAME) as temporary:
        save_file(weights, temporary, metadata={"format": FORMAT, "version": str(VERSION)})
    manifest = {"format": FORMAT, "version": VERSION, "sha256": sha256_of(folder / WEIGHTS_NAME), "about": about}
    write_json(folder / MANIFEST_NAME, manifest)


def load_pilot(path: str | Path) -> "PilotNet":
    """The net in evaluation mode from a pilot's folder or .safetensors file; every weight is checked."""
    import torch
    from safetensors import SafetensorError, safe_open

    from donkey_aicc.nets.pilot_net import PilotNet

    file = _weights_file(Path(path).expanduser())
    try:
        with safe_open(file, framework="pt") as stored:
            metadata = stored.metadata() or {}
            weights = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise AiccError(f"the pilot file {file} is corrupt or no safetensors file: {error}") from error
    if metadata.get("format") != FORMAT or metadata.get("version") != str(VERSION):
        found = f"format {metadata.get('format')!r} version {metadata.get('version')!r}"
        raise AiccError(
            f"{file} must be a {FORMAT} file of version {VERSION}, got {found}; train one with donkey-aicc train-pilot"
        )
    net = PilotNet()
    try:
        net.load_state_dict(weights, strict=True)
    except RuntimeError as error:
        raise AiccError(f"the pilot file {file} does not fit the pilot net: {error}") from error
    broken = [name for name, value in weights.items() if not torch.isfinite(value).all()]
    if broken:
        raise AiccError(f"the pilot file {file} is corrupt: not a number in {', '.join(broken)}")
    return net.eval()


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
