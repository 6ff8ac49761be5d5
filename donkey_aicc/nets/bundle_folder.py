"""BundleFolder: what a bundle says about itself and where its files are; needs no torch."""

import hashlib
from pathlib import Path

import numpy as np

from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.nets.manifest import CALIBRATOR, Manifest, read_manifest
from donkey_aicc.nets.preprocess import ActionStats
from donkey_aicc.untrusted import read_bounded

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
        """Where this bundle's calibrator is, if there is one; it carries its own hash and may be newer than the weights."""
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
