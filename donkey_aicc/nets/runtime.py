"""Runtime: the nets of a bundle with numpy arrays in and out. The same interface on ONNX Runtime (the car) and on torch.

It starts from a BundleFolder, which says what a bundle is and where its files are, and needs no torch.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from donkey_aicc.errors import DAMAGE, AiccError, one_of
from donkey_aicc.nets.manifest import CALIBRATOR, Manifest, read_manifest
from donkey_aicc.nets.preprocess import HIDDEN, POSITIONS, ActionStats
from donkey_aicc.untrusted import read_bounded

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

MOST_CHANNELS = 8192  # of a layer, twice what ours have: a small file must not make a net that fills the memory


class BundleFolder:
    """The manifest of a bundle and its folder."""

    def __init__(self, manifest: Manifest, path: Path) -> None:
        self.manifest, self.path = manifest, path
        self.horizons = tuple(manifest.horizons)
        self.lags = tuple(manifest.lags)
        self.action_stats = ActionStats.from_json(manifest.action_stats)

    @classmethod
    def open(cls, path: str | Path) -> "BundleFolder":
        """Read the manifest; the other files are checked when they are used."""
        return BundleFolder(read_manifest(path), Path(path))

    @property
    def has_predictor(self) -> bool:
        """False for a bundle trained without labels."""
        return self.manifest.has_predictor

    @property
    def calibrator_path(self) -> Path:
        """Where this bundle's calibrator is, if there is one; it names the weights that it is for."""
        return self.path / CALIBRATOR

    def content(self, file: str) -> bytes:
        """A file that the manifest lists, if size and hash are as recorded and its weights are numbers.

        Its bytes and not its place, so that what was checked is what is used, and nothing that happens to the file while the
        car drives can matter.
        """
        path, entry = self.path / file, (self.manifest.files | self.manifest.onnx)[file]
        if not path.is_file():
            raise AiccError(f"{self.path} lacks {file}, which its manifest lists; copy the whole bundle folder again")
        size = path.stat().st_size
        if size != entry["bytes"]:
            state = "truncated" if size < entry["bytes"] else "longer than recorded"
            raise AiccError(f"{path} is {state}: {size} bytes, expected {entry['bytes']}; copy the bundle again")
        data = read_bounded(path, size)
        digest = hashlib.sha256(data).hexdigest()
        if digest != entry["sha256"]:
            raise AiccError(
                f"{path}: sha256 differs from the manifest ({digest[:12]}..., expected {entry['sha256'][:12]}...); "
                "the file was changed or damaged: copy the bundle again or retrain it"
            )
        return data

    def weights(self, file: str) -> dict[str, np.ndarray]:
        """The tensors of a weight file. A hash says who wrote it, not that it holds numbers: a NaN would silence the monitor."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        path = self.path / file
        try:
            found = load(self.content(file))
        except (SafetensorError, AssertionError, *DAMAGE) as error:
            raise AiccError(f"{path} is not a readable weight file: {error}; retrain the bundle") from error
        for name, value in found.items():
            if max(value.shape, default=0) > MOST_CHANNELS:
                raise AiccError(f"{path}: {name} must have at most {MOST_CHANNELS} in a dimension, got {value.shape}; retrain it")
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                raise AiccError(f"{path}: {name} must hold finite numbers, got others; retrain the bundle")
        return found


AUTO, ONNX, TORCH = KINDS = ("auto", "onnx", "torch")

# hidden and cell of the first layer, hidden and cell of the second, each (16, L, S, 128): position of the 4x4 map, lane, sample
State = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class StepMasks:
    """Dropout multipliers of one step: recurrent (2, S, 128) and between (1 or L, S, 128)."""

    recurrent: np.ndarray
    between: np.ndarray


class Runtime(ABC):
    """float32 everywhere. Images are (B, 3, 64, 64) in [0, 1], latents (B, 64, 4, 4)."""

    name: str  # ONNX or TORCH

    def __init__(self, bundle: "BundleFolder | Runtime") -> None:
        self.action_stats: ActionStats = bundle.action_stats
        self.horizons: tuple[int, ...] = bundle.horizons
        self.has_predictor: bool = bundle.has_predictor
        self.lags: tuple[int, ...] = bundle.lags

    def prepare_thread(self, threads: int) -> None:  # noqa: B027  only torch has something to prepare
        """Called first in a thread that will use the nets."""

    @abstractmethod
    def encode(self, images: np.ndarray) -> np.ndarray:
        """The latent mean."""

    @abstractmethod
    def decode(self, latents: np.ndarray) -> np.ndarray:
        """Images."""

    @abstractmethod
    def predict(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The safety predictor's features (B, 128) and logits (B, K). images: (B, C, 64, 64), see `preprocess.stacked`."""

    @abstractmethod
    def command(self, action: np.ndarray) -> np.ndarray:
        """Normalised action (L, 2) -> what it adds to the gates of every step in which it is held: (16, L, 1, 512)."""

    @abstractmethod
    def step(self, z: np.ndarray, command: np.ndarray, state: State, masks: StepMasks) -> tuple[np.ndarray, State]:
        """One step of the dynamics for L lanes with S samples each: z (16, L, S, 64) at t -> at t + 1, and the new state."""


def initial_state(lanes: int, samples: int) -> State:
    """The all-zero state before the first frame."""
    zeros = np.zeros((POSITIONS, lanes, samples, HIDDEN), dtype=np.float32)
    return zeros, zeros.copy(), zeros.copy(), zeros.copy()


def open_runtime(path: Any, kind: str = AUTO, threads: int = 1, control_threads: int = 1) -> Runtime:
    """The nets of a bundle folder, its files checked. `auto` takes ONNX Runtime where the bundle has been exported.

    threads: of the world model; control_threads: of the predictor and of the calling thread.
    """
    one_of("AICC_RUNTIME", kind, KINDS)
    folder = BundleFolder.open(path)
    exported = folder.manifest.is_exported
    if kind == ONNX and not exported:
        raise AiccError(f"bundle {folder.path} has no ONNX files; make them with: donkey-aicc export {folder.path}")
    if kind == ONNX or (kind == AUTO and exported):
        from donkey_aicc.nets.onnx_runtime import OnnxRuntime

        return OnnxRuntime(folder, threads, control_threads)
    try:
        from donkey_aicc.nets.bundle import Bundle
        from donkey_aicc.nets.torch_runtime import TorchRuntime
    except ImportError as error:
        raise AiccError(
            f"bundle {folder.path} has no ONNX files and torch is not installed ({error}); run donkey-aicc export {folder.path} "
            "where it was trained, or: pip install 'donkey_aicc[train]'"
        ) from error
    runtime = TorchRuntime(Bundle.load(folder.path))
    runtime.prepare_thread(control_threads)
    return runtime


def runtime_of(nets: "Runtime | Bundle") -> Runtime:
    """A runtime as it is; a loaded bundle on torch."""
    if isinstance(nets, Runtime):
        return nets
    from donkey_aicc.nets.torch_runtime import TorchRuntime

    return TorchRuntime(nets)
