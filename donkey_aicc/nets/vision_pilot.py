"""VisionPilot: the pilot net as a donkeycar part, in numpy: so small a net needs nothing else.

On disk a pilot is a folder with `pilot.safetensors` (the weights) and `manifest.json` (what they are and their hash), or the
`.safetensors` file alone.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from threadpoolctl import threadpool_limits

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path, save_tensors, sha256_of, write_json
from donkey_aicc.limits import drive_command
from donkey_aicc.nets.preprocess import to_model_image
from donkey_aicc.untrusted import read_untrusted_json

if TYPE_CHECKING:
    from donkey_aicc.nets.camera_nets import PilotNet

logger = logging.getLogger(__name__)

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

    from donkey_aicc.nets.camera_nets import PilotNet

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
        raise AiccError(f"{file} must be a {FORMAT} file of version {VERSION}, got {found}")
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


# Threads and vector instructions change the last bits of a sum. In double precision and rounded afterwards they never reach
# the servo, so that the same frames give the same drive on every machine.
COMMAND_DIGITS = 5


class VisionPilot:
    """donkeycar's pilot interface: load(path), run(image) -> (angle, throttle), shutdown().

    A frame it cannot use and a net that fails stop the car (0, 0): an exception in `run` would end the drive.
    """

    def __init__(self, threads: int = 1) -> None:
        threadpool_limits(threads, user_api="blas")  # more would only steal time from the camera and the recording
        self._layers: _Layers | None = None
        self._complained = False

    @classmethod
    def of(cls, net: "PilotNet") -> "VisionPilot":
        """A pilot around a net that is already in memory, as it is now."""
        pilot = cls()
        pilot._layers = _Layers({name: value.detach().cpu().numpy() for name, value in net.state_dict().items()})
        return pilot

    def load(self, model_path: str | Path) -> None:
        """Read the weights; raises AiccError on a file that cannot be used."""
        self._layers = _Layers(pilot_weights(model_path))

    def run(self, img_arr: np.ndarray | None, *_: object) -> tuple[float, float]:
        """(H, W, 3) uint8 RGB frame -> steering (+1 right) and throttle in [-1, 1]."""
        if img_arr is None or self._layers is None:
            return 0.0, 0.0
        try:
            steering, throttle = self._layers.command(to_model_image(img_arr))
        except Exception as error:
            self._complain(error)
            return 0.0, 0.0
        return drive_command(round(steering, COMMAND_DIGITS)), drive_command(round(throttle, COMMAND_DIGITS))

    def _complain(self, error: Exception) -> None:
        if not self._complained:  # once: the same is true of every frame that follows
            logger.error(f"the pilot stops the car: {error}")
            self._complained = True

    def shutdown(self) -> None:
        """Nothing to release."""


class _Layers:
    """PilotNet's layers in double precision."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._weights = {name: value.astype(np.float64) for name, value in weights.items()}
        # (out, in, k, k) -> (k k in, out): a convolution is then one product
        self._kernels = {
            name: self._weights[f"{name}.weight"].transpose(2, 3, 1, 0).reshape(-1, shape[0])
            for name, (shape, _) in CONVOLUTIONS.items()
        }

    def command(self, image: np.ndarray) -> list[float]:
        """(64, 64, 3) uint8 -> [steering, throttle]."""
        x = image / np.float32(255.0) - 0.5
        for name, (shape, stride) in CONVOLUTIONS.items():
            out, channels, *window = shape
            windows = sliding_window_view(x, (*window, channels))[::stride, ::stride, 0]  # (height, width, k, k, in)
            rows = windows.reshape(-1, len(self._kernels[name]))
            x = np.maximum(rows @ self._kernels[name] + self._weights[f"{name}.bias"], 0.0).reshape(*windows.shape[:2], out)
        x = x.transpose(2, 0, 1).ravel()
        *hidden, last = HEAD
        for name in hidden:
            x = np.maximum(self._linear(name, x), 0.0)
        return np.tanh(self._linear(last, x)).tolist()

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return self._weights[f"{name}.weight"] @ x + self._weights[f"{name}.bias"]
