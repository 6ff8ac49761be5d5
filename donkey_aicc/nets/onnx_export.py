"""From a trained bundle to ONNX graphs beside its weights, checked against torch on real frames before they count."""

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import remove_leftovers, sha256_of
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import Manifest, write_manifest
from donkey_aicc.nets.onnx_graph import Weights
from donkey_aicc.nets.onnx_nets import NET_OF, graph_file
from donkey_aicc.nets.onnx_runtime import OnnxRuntime
from donkey_aicc.nets.preprocess import HIDDEN, POSITIONS, images_to_array, stacked
from donkey_aicc.nets.runtime import BundleFolder, Runtime, StepMasks, initial_state
from donkey_aicc.nets.torch_runtime import TorchRuntime

TOLERANCE = 1e-4
CHECKED_FRAMES = 8
CHECKED_STEPS = 10
_SAMPLES = 3


def export_bundle(path: str | Path, images: np.ndarray, actions: np.ndarray) -> dict[str, float]:
    """Write the graphs into the bundle's folder; returns the largest difference from torch, net by net.

    images (N, 64, 64, 3) uint8 and actions (N, 2): frames of a drive, which the nets must agree on. A graph that differs by
    more than TOLERANCE is not kept.
    """
    bundle = Bundle.load(path)
    written = [file for file, net in NET_OF.items() if net in bundle.manifest.weight_files]
    remove_leftovers(bundle.path / "export")  # of an export that was killed
    with tempfile.TemporaryDirectory(dir=bundle.path, prefix=f".export.{os.getpid()}-") as temporary:
        folder = Path(temporary)
        for file in bundle.manifest.weight_files.values():
            shutil.copy(bundle.path / file, folder / file)  # a graph may read files of its own folder only
        for file in written:
            weights = bundle.manifest.weight_files[NET_OF[file]]
            (folder / file).write_bytes(graph_file(file, Weights(weights, (folder / weights).read_bytes())))
        hashes = {file: {"sha256": sha256_of(folder / file), "bytes": (folder / file).stat().st_size} for file in written}
        manifest = replace(bundle.manifest, onnx=hashes)
        differences = _compare(bundle, folder, manifest, images[:CHECKED_FRAMES], actions[:CHECKED_FRAMES])
        for file in written:
            (folder / file).chmod(0o644)
            (folder / file).replace(bundle.path / file)
    write_manifest(bundle.path, manifest)
    return differences


def _compare(bundle: Bundle, folder: Path, manifest: Manifest, images: np.ndarray, actions: np.ndarray) -> dict[str, float]:
    exported = OnnxRuntime(BundleFolder(manifest, folder))
    found = (_outputs(runtime, images, actions) for runtime in (TorchRuntime(bundle), exported))
    torchs, ours = found
    differences = {name: float(np.abs(values - ours[name]).max()) for name, values in torchs.items()}
    for name, difference in differences.items():
        if not difference <= TOLERANCE:  # NaN too
            raise AiccError(
                f"{name} on ONNX Runtime differs from torch by {difference:g}, allowed is {TOLERANCE:g}; not exported"
            )
    return differences


def _outputs(runtime: Runtime, images: np.ndarray, actions: np.ndarray) -> dict[str, np.ndarray]:
    latents = runtime.encode(images_to_array(images))
    commands = runtime.action_stats.normalise(actions)
    found = {"encoder": latents, "decoder": runtime.decode(latents), "rollout": _rollout(runtime, latents, commands)}
    if runtime.has_predictor:
        frames = np.repeat(images[:, None], len(runtime.lags), axis=1)
        logits = runtime.predict(stacked(frames, np.repeat(actions[:, None], len(runtime.lags), axis=1), runtime.action_stats))[1]
        found["predictor"] = 1.0 / (1.0 + np.exp(-logits.astype(np.float64)))
    return found


def _rollout(runtime: Runtime, latents: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Some steps ahead of every frame at once, with dropout."""
    rng, lanes = np.random.default_rng(0), len(latents)
    maps = latents.transpose(2, 3, 0, 1).reshape(POSITIONS, lanes, 1, -1)
    z, state, command = np.repeat(maps, _SAMPLES, axis=2), initial_state(lanes, _SAMPLES), runtime.command(commands)
    for _ in range(CHECKED_STEPS):
        recurrent, between = (rng.integers(0, 2, (count, _SAMPLES, HIDDEN)).astype(np.float32) for count in (2, lanes))
        z, state = runtime.step(z, command, state, StepMasks(recurrent, between))
    return z
