"""A bundle: a folder with manifest.json and the weights of the three nets as safetensors. Nothing is pickled."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from donkey_aicc.errors import AiccError
from donkey_aicc.files import exchange, remove_leftovers, save_tensors, sha256_of
from donkey_aicc.nets import fast_conv  # noqa: F401  imported early: its constants must not be made on the meta device
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN, convolution_channels, input_width
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import MANIFEST, WEIGHT_FILES, Manifest, read_manifest, write_manifest
from donkey_aicc.nets.preprocess import input_channels
from donkey_aicc.nets.runtime import BundleFolder

__all__ = ["Bundle", "Manifest", "Nets", "read_manifest", "save_bundle", "survives_half"]


@dataclass(frozen=True)
class Nets:
    """The nets that make up a bundle; without labels there is no safety predictor."""

    vae: VAE
    dynamics: LatentDynamics
    safety: SafetyCNN | None

    def by_name(self) -> dict[str, nn.Module]:
        found: dict[str, nn.Module | None] = {"vae": self.vae, "dynamics": self.dynamics, "safety": self.safety}
        return {name: net for name, net in found.items() if net is not None}


class Bundle(BundleFolder):
    """Trained nets in evaluation mode with the statistics that belong to them."""

    def __init__(self, nets: Nets, manifest: Manifest, path: Path, device: torch.device) -> None:
        super().__init__(manifest, path)
        self.vae, self.dynamics, self._safety = nets.vae, nets.dynamics, nets.safety
        self.device = device

    @property
    def has_predictor(self) -> bool:
        """False for a bundle trained without labels."""
        return self._safety is not None

    @property
    def safety(self) -> SafetyCNN:
        """The safety predictor; asking a bundle that has none is refused in words."""
        if self._safety is None:
            raise AiccError(
                f"bundle {self.path} was trained without labels: it gives rho, delta and the alarm, but has no safety predictor, "
                "so no p_safe and no confidence. Label the tubs (donkey-aicc label TUB) and train again for those"
            )
        return self._safety

    @classmethod
    def load(cls, path: str | Path, device: str | torch.device = "cpu") -> "Bundle":
        """Verify the folder and load it; every refusal says what is wrong and what to do."""
        opened, target = BundleFolder.open(path), torch.device(device)
        manifest, folder = opened.manifest, opened.path
        states = {name: _state(opened, file) for name, file in manifest.weight_files.items()}
        if "safety" in states:
            _check_inputs(folder, input_width(states["safety"]), input_channels(opened.lags))
        horizons = len(manifest.horizons)
        makers: dict[str, Callable[[], nn.Module]] = {
            "vae": VAE,
            "dynamics": LatentDynamics,
            "safety": lambda: SafetyCNN(horizons, convolution_channels(states["safety"]), input_width(states["safety"])),
        }
        loaded = {
            name: _filled(make, states[name], folder / WEIGHT_FILES[name], target)
            for name, make in makers.items()
            if name in states
        }
        return cls(Nets(loaded["vae"], loaded["dynamics"], loaded.get("safety")), manifest, folder, target)  # type: ignore[arg-type]


def _check_inputs(folder: Path, found: int, expected: int) -> None:
    if found != expected:
        raise AiccError(
            f"{folder / WEIGHT_FILES['safety']} takes {found} input channels, while the manifest's lags make {expected}; "
            "copy the whole bundle folder again or retrain it"
        )


def _state(folder: BundleFolder, file: str) -> dict[str, Tensor]:
    return {name: torch.from_numpy(value) for name, value in folder.weights(file).items()}


def _filled(make: Callable[[], nn.Module], state: dict[str, Tensor], path: Path, device: torch.device) -> nn.Module:
    with torch.device("meta"):  # no time for random weights that are overwritten at once
        net = make()
    full = {name: value.float() if value.is_floating_point() else value for name, value in state.items()}
    try:
        net.load_state_dict(full, strict=True, assign=True)
    except RuntimeError as error:
        raise AiccError(f"{path} does not fit this version's network: {str(error).splitlines()[-1].strip()}; retrain") from error
    return net.to(device).eval().requires_grad_(False)


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
