"""What a frame looks like, in some dozens of numbers: of no track in particular, or of a bundle's world model."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import cv2
import numpy as np

from donkey_aicc.progress import Progress
from donkey_aicc.tubs.drive import Drive

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

COLOUR_GRID, EDGE_GRID = 16, 8  # cells per side
EDGE_WEIGHT = 0.5  # of all edges beside all colours
COMPONENTS = 48
MOST_FITTED = 4000  # frames from which the components are found
CHUNK = 512


def general_features(drives: Sequence[Drive], seed: int = 0) -> np.ndarray:
    """(N, <= 48) float32: main components of colours (Lab) and edges on a coarse grid; need no training."""
    total = sum(len(drive) for drive in drives)
    raw = np.empty((total, COLOUR_GRID**2 * 3 + EDGE_GRID**2 * 2), dtype=np.float16)
    done = 0
    with Progress("looking at the frames", total, "frames") as bar:
        for images in _chunks(drives):
            raw[done : done + len(images)] = np.stack([_describe(image) for image in images])
            done += len(images)
            bar.advance(len(images))
    return _components(raw, _scale(raw[:: max(total // MOST_FITTED, 1)].astype(np.float32)), seed)


def bundle_features(drives: Sequence[Drive], bundle: "Bundle", seed: int = 0) -> np.ndarray:
    """(N, <= 48) float32: main components of the encoder's means, each latent by its own spread."""
    import torch

    from donkey_aicc.nets.preprocess import images_to_tensor

    with torch.no_grad():
        parts = [bundle.vae.encode(images_to_tensor(images))[0].flatten(1).numpy() for images in _chunks(drives)]
    latents = np.concatenate(parts)
    return _components(latents, np.maximum(latents.std(axis=0), 1e-6), seed)


def _components(raw: np.ndarray, scale: np.ndarray, seed: int) -> np.ndarray:
    """(N, <= 48) float32: main components of (N, D) columns divided by their scale (D,)."""
    from sklearn.decomposition import PCA

    fitted = raw[:: max(len(raw) // MOST_FITTED, 1)].astype(np.float32) / scale
    pca = PCA(min(COMPONENTS, *fitted.shape), random_state=seed).fit(fitted)
    parts = [pca.transform(raw[at : at + CHUNK].astype(np.float32) / scale) for at in range(0, len(raw), CHUNK)]
    return np.concatenate(parts).astype(np.float32)


def _chunks(drives: Sequence[Drive]) -> Iterator[np.ndarray]:
    for drive in drives:
        for at in range(0, len(drive), CHUNK):
            yield np.asarray(drive.images[at : at + CHUNK])


def _describe(image: np.ndarray) -> np.ndarray:
    """(896,) float32 of one (64, 64, 3) uint8 RGB frame."""
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    light = lab[:, :, 0].astype(np.float32)
    edges = np.dstack([np.abs(cv2.Sobel(light, cv2.CV_32F, 1, 0)), np.abs(cv2.Sobel(light, cv2.CV_32F, 0, 1))])
    colours = cv2.resize(lab, (COLOUR_GRID, COLOUR_GRID), interpolation=cv2.INTER_AREA)
    coarse_edges = cv2.resize(edges, (EDGE_GRID, EDGE_GRID), interpolation=cv2.INTER_AREA)
    return np.concatenate([colours.astype(np.float32).ravel(), coarse_edges.ravel()])


def _scale(raw: np.ndarray) -> np.ndarray:
    """(D,) float32: colours together count 1, edges together EDGE_WEIGHT, whatever their units."""
    colours = COLOUR_GRID**2 * 3
    variances = raw.var(axis=0)
    parts = [
        np.full(len(part), max(float(np.sqrt(part.sum())), 1e-6) / weight)
        for part, weight in ((variances[:colours], 1.0), (variances[colours:], EDGE_WEIGHT))
    ]
    return np.concatenate(parts).astype(np.float32)
