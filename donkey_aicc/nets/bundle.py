"""A bundle: a folder with manifest.json and the weights of the nets as safetensors, ready to run. Nothing is pickled."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.nets.engine import Engine
from donkey_aicc.nets.manifest import CALIBRATOR, MANIFEST, OWN, Manifest, read_manifest
from donkey_aicc.nets.onnx_graph import Built
from donkey_aicc.nets.onnx_nets import NET_OF, build_graph
from donkey_aicc.nets.own_predictor import known_predictor
from donkey_aicc.nets.preprocess import FEATURE_SIZE, NO_HISTORY, ActionStats, input_channels
from donkey_aicc.resources import models_dir
from donkey_aicc.untrusted import read_bounded

MOST_CHANNELS = 8192  # of a layer, twice what ours have: a small file must not make a net that fills the memory
_UNUSED = ".num_batches_tracked"  # of the norms: training counts there
Weights = dict[str, np.ndarray]


class Bundle(Engine):
    """A bundle: what its manifest says, its files, checked whenever they are read, and its nets. Make one with `Bundle.load`.

    Args:
        manifest: as read from the folder; `horizons` (K frame counts), `context` (frames), the split, and how good it is.
        path: of the folder.
        threads: of the CPU for the world model, 1 or more.
        control_threads: of the CPU for the safety predictor, 1 or more.

    Example:
        >>> from donkey_aicc import Bundle
        >>> bundle = Bundle.load("reference")  # shipped; or a folder
        >>> bundle.horizons[:3], bundle.has_predictor
        ((1, 5, 10), True)
        >>> features, logits = bundle.predict(np.zeros((2, 3, 64, 64), dtype=np.float32))  # (B, C, 64, 64) in 0 to 1
        >>> features.shape, logits.shape
        ((2, 128), (2, 11))
    """

    def __init__(self, manifest: Manifest, path: Path, threads: int = 1, control_threads: int = 1) -> None:
        super().__init__(self._graph, threads, control_threads)
        self.manifest, self.path = manifest, path
        self.horizons = tuple(manifest.horizons)
        self.lags = tuple(manifest.lags)
        self.action_stats = ActionStats.from_json(manifest.action_stats)
        self._arrived: dict[str, Weights] = {}  # in a worker: the weights came along
        is_own = manifest.predictor == OWN
        self._own = known_predictor(manifest.own, self.horizons, self.lags) if is_own else None
        self.feature_size: int = FEATURE_SIZE if self._own is None else manifest.own["features"]
        # Of the steering that goes into the predictor; None: it sees one frame and no steering.
        self.steering_stats = self.action_stats if is_own or self.lags != NO_HISTORY else None

    @classmethod
    def open(cls, path: str | Path, threads: int = 1, control_threads: int = 1) -> "Bundle":
        """Read the manifest; the other files are checked when they are used. path: a folder, or the name of a shipped bundle."""
        if not Path(path).exists() and (models_dir() / path / MANIFEST).is_file():
            path = models_dir() / path
        return cls(read_manifest(path), Path(path), threads, control_threads)

    @classmethod
    def load(cls, path: str | Path, threads: int = 1, control_threads: int = 1) -> "Bundle":
        """Check the whole folder: damage shows itself here, not in the middle of a drive. Refusals say what is to be done."""
        bundle = cls.open(path, threads, control_threads)
        for net, file in bundle.manifest.weight_files.items():
            weights = bundle.weights(net)
            used = {name for graph, its in NET_OF.items() if its == net for name in bundle._build_graph(graph, weights).weights}
            other = sorted(name for name in weights.keys() - used if not name.endswith(_UNUSED))
            if other:
                where = bundle.path / file
                raise AiccError(f"{where} does not fit this version's network: it has {other[0]} too; train the bundle again")
        return bundle

    @property
    def has_predictor(self) -> bool:
        """False for a bundle trained without labels."""
        return self.manifest.has_predictor

    @property
    def input_channels(self) -> int:
        """Of the predictor's input."""
        return input_channels(self.lags, self.steering_stats is not None)

    def predict(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features and logits, of the owner's predictor where the bundle was made for one."""
        return super().predict(images) if self._own is None else self._own.logits(images, self.action_stats)

    def predict_dropped(self, images: np.ndarray, first: np.ndarray, features: np.ndarray) -> np.ndarray:
        """NaN for the owner's predictor: nobody knows its dropout."""
        if self._own is None:
            return super().predict_dropped(images, first, features)
        return np.full((len(first), len(images), len(self.horizons)), np.nan)

    @property
    def calibrator_path(self) -> Path:
        """Where this bundle's calibrator is, if there is one; it names the weights that it is for."""
        return self.path / CALIBRATOR

    def content(self, file: str) -> bytes:
        """A file that the manifest lists, if size and hash are as recorded.

        Its bytes and not its place, so that what was checked is what is used, and nothing that happens to the file while the
        car drives can matter.
        """
        path, entry = self.path / file, self.manifest.files[file]
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

    def weights(self, net: str) -> Weights:
        """The tensors of a net. A hash says who wrote a file, not that it holds numbers: a NaN would silence the monitor."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        if net in self._arrived:
            return self._arrived[net]
        if net not in self.manifest.weight_files:
            raise AiccError(
                f"bundle {self.path} was trained without labels: it gives rho, delta and the alarm, but has no safety predictor, "
                "so no p_safe and no confidence. Label the tubs (donkey-aicc label TUB) and train again for those"
            )
        file = self.manifest.weight_files[net]
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

    def _graph(self, which: str) -> Built:
        return self._build_graph(which, self.weights(NET_OF[which]))

    def _build_graph(self, which: str, weights: Weights) -> Built:
        where = self.path / self.manifest.weight_files[NET_OF[which]]
        return build_graph(which, weights, str(where), self.input_channels, len(self.horizons))

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process, and with its weights, because a computer of a cluster need not have the folder."""
        self._arrived = {net: self.weights(net) for net in self.manifest.weight_files}
        return partial(_arrived, type(self)), (self.manifest, self.path, self._arrived)


_HERE: dict[tuple[str, ...], Bundle] = {}


def _arrived(kind: type[Bundle], manifest: Manifest, path: Path, weights: dict[str, Weights]) -> Bundle:
    """In a worker: the same bundle comes with every task, and making its sessions takes longer than many a task."""
    key = (str(path), *sorted(entry["sha256"] for entry in manifest.files.values()))
    if key not in _HERE:
        _HERE.clear()
        _HERE[key] = kind(manifest, path)
        _HERE[key]._arrived = weights
    return _HERE[key]
