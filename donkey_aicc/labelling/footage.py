"""All frames of the tubs in one row: position 0..N-1, what stands where, what was parked, and what a frame looks like.

A frame's looks are some dozens of numbers: of no track in particular, or of a bundle's world model.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import csv_text, write_atomic
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.progress import Progress
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.find_tubs import find_tubs, tub_names
from donkey_aicc.tubs.load import load_drives
from donkey_aicc.tubs.near_duplicates import standing_frames

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

FEWEST_FRAMES = 100


class Footage:
    """N frames in driving order, drive after drive."""

    def __init__(self, drives: Sequence[Drive], folders: dict[str, Path]) -> None:
        """folders: where each tub is, by its name."""
        self.drives, self.folders = list(drives), folders
        self.starts = np.cumsum([0, *(len(drive) for drive in drives)])
        self.tubs = [drive.tub for drive in drives]
        self.indices = np.concatenate([drive.indices for drive in drives])
        self.times_s = np.concatenate([drive.times_s for drive in drives])
        self.drive_of = np.repeat(np.arange(len(drives)), np.diff(self.starts))
        self._positions = {
            (drive.tub, int(index)): int(start) + at
            for drive, start in zip(drives, self.starts[:-1], strict=True)
            for at, index in enumerate(drive.indices)
        }

    @classmethod
    def load(cls, paths: Sequence[str | Path], cache_dir: str | Path | None = None) -> "Footage":
        """Every usable frame below the paths; the tubs are only read."""
        loaded = load_drives(paths, tau=None, cache_dir=cache_dir)
        tubs = find_tubs(paths)
        footage = cls(loaded.drives, dict(zip(tub_names(tubs), tubs, strict=True)))
        if len(footage) < FEWEST_FRAMES:
            raise AiccError(f"labelling by looking needs at least {FEWEST_FRAMES} usable frames, got {len(footage)}; record more")
        return footage

    def __len__(self) -> int:
        return int(self.starts[-1])

    def tub_at(self, position: int) -> str:
        return self.tubs[int(self.drive_of[position])]

    def key(self, position: int) -> tuple[str, int]:
        """Tub and record index."""
        return self.tub_at(position), int(self.indices[position])

    def position(self, tub: str, index: int) -> int | None:
        """Where a record stands, None if it is no usable frame."""
        return self._positions.get((tub, index))

    def time_ms(self, position: int) -> int:
        return round(float(self.times_s[position]) * 1000)

    def image(self, position: int) -> np.ndarray:
        """(64, 64, 3) uint8 RGB."""
        drive = int(self.drive_of[position])
        return np.asarray(self.drives[drive].images[position - self.starts[drive]])

    def near(self, position: int, within_s: float) -> np.ndarray:
        """Positions of the same drive less than so many seconds away, itself included."""
        drive = int(self.drive_of[position])
        start, stop = self.starts[drive], self.starts[drive + 1]
        here, times = self.times_s[position], self.times_s[start:stop]
        first, last = np.searchsorted(times, [here - within_s, here + within_s], side="right")
        return np.arange(start + first, max(start + last, position + 1))

    def write_labels(self, path: str | Path, names: Sequence[str], cells: Sequence[Sequence[Any]], certainty: np.ndarray) -> None:
        """A label file: tub (if there are several) and index, these cells, how sure they are, and the record's time."""
        tub = ["tub"] if len(self.folders) > 1 else []
        rows = [
            [*self.key(at)[1 - len(tub) :], *own, f"{float(certainty[at]):.3f}", self.time_ms(at)] for at, own in enumerate(cells)
        ]
        write_atomic(path, csv_text([*tub, "index", *names, "certainty", "time_ms"], *rows))

    @cached_property
    def still(self) -> np.ndarray:
        """(N,) int: number of the stretch in which the picture stands still (a parked car), 0 where it moves."""
        by_tub = {tub: [drive for drive in self.drives if drive.tub == tub] for tub in self.tubs}
        found = {tub: iter(standing_frames(drives)) for tub, drives in by_tub.items()}
        standing = np.concatenate([next(found[tub]) for tub in self.tubs])
        begins = standing & ~np.concatenate([[False], standing[:-1] & (np.diff(self.drive_of) == 0)])
        return np.where(standing, np.cumsum(begins), 0)

    @cached_property
    def seconds(self) -> np.ndarray:
        """(N,) float64: driving time so far, without the gaps between drives."""
        spans = [float(drive.times_s[-1] - drive.times_s[0]) for drive in self.drives]
        before = np.cumsum([0.0, *spans[:-1]])
        firsts = np.array([float(drive.times_s[0]) for drive in self.drives])
        return np.asarray(before[self.drive_of] + self.times_s - firsts[self.drive_of])


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
    latents = np.concatenate([bundle.encode(images_to_array(images)) for images in _chunks(drives)])
    latents = latents.reshape(len(latents), -1)
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
