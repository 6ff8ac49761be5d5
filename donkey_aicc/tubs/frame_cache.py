"""Decoded 64x64 frames of a tub, kept outside the tub as one memory-mapped array.

An entry is a folder named after a hash of the image files (names, sizes, times, samples of their bytes) and the record
ids. It is built under a temporary name and renamed when complete, so that a crash leaves nothing half done and of two
processes that build the same entry one wins. The whole cache may be deleted at any time.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.preprocess import IMAGE_SIZE
from donkey_aicc.progress import Progress
from donkey_aicc.tubs.drive import digest_frame
from donkey_aicc.tubs.image_file import MAX_IMAGE_BYTES, decode_image_file
from donkey_aicc.untrusted import read_own, read_untrusted_json

CACHE_VERSION = 2  # raise when decoding or resizing changes
FRAMES, DESCRIPTION, ORIGIN = "frames.npy", "description.npz", "origin.json"
BUILDING = ".building-"
ABANDONED_AFTER_S = 24 * 3600.0
CHUNK = 64
ABSENT = (-1, -1)
ImageFile = str | Path | None
SAMPLES = 16  # files whose bytes enter the key, in case sizes and times were levelled by an archive


@dataclass(frozen=True)
class Frames:
    """The decoded images of N records and what was found in their files."""

    images: np.ndarray  # (N, 64, 64, 3) uint8 RGB, black where status is not OK; usually a read-only memory map
    status: np.ndarray  # (N,) uint8: image_file.OK, MISSING, ...
    shape: np.ndarray  # (N, 4) int32: height, width, channels, bits per channel in the file
    file_digest: np.ndarray  # (N,) uint64 of the file's bytes, 0 where unreadable
    pixel_digest: np.ndarray  # (N,) uint64 of the model image, so that hashing a sequence need not read it


def default_cache_dir() -> Path:
    """$DONKEY_AICC_CACHE, else $XDG_CACHE_HOME/donkey_aicc, else ~/.cache/donkey_aicc."""
    if os.environ.get("DONKEY_AICC_CACHE"):
        return Path(os.environ["DONKEY_AICC_CACHE"]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "donkey_aicc"


def load_frames(
    tub: Path, image_paths: Sequence[ImageFile], record_ids: Sequence[int], cache_dir: str | Path | None = None
) -> Frames:
    """Frames of the records in the given order, from the cache if it has them, else decoded and kept there.

    Where the cache cannot be written, the frames are decoded into memory instead.
    """
    folder = (Path(cache_dir) if cache_dir is not None else default_cache_dir()) / "frames"
    entry = folder / cache_key(image_paths, record_ids)
    cached = _open(entry, len(image_paths))
    if cached is not None:
        return cached
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _build(entry, tub, image_paths)
    except OSError:
        built = None
    else:
        built = _open(entry, len(image_paths))
    if built is None:
        return _decode_all(tub.name, image_paths, np.zeros((len(image_paths), IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8))
    return built


def cache_key(image_paths: Sequence[ImageFile], record_ids: Sequence[int]) -> str:
    """Changes when an image is added, removed, replaced or touched; moving the whole tub keeps it."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"frames v{CACHE_VERSION} size {IMAGE_SIZE}".encode())
    files = [None if path is None else os.path.split(path) for path in image_paths]
    stats = {folder: _stats(folder) for folder in {file[0] for file in files if file}}
    lines = []
    existing = []
    for file, record in zip(files, record_ids, strict=True):
        size, mtime_ns = stats[file[0]].get(file[1], ABSENT) if file else ABSENT
        lines.append(f"{record}\t{file[1] if file else ''}\t{size}\t{mtime_ns}")
        if file and size >= 0:
            existing.append(os.path.join(*file))
    digest.update("\n".join(lines).encode(errors="surrogatepass"))
    for path in existing[:: max(len(existing) // SAMPLES, 1)][:SAMPLES]:
        try:
            digest.update(read_own(path, MAX_IMAGE_BYTES))
        except (OSError, AiccError):
            digest.update(b"unreadable")
    return digest.hexdigest()


def _stats(folder: str) -> dict[str, tuple[int, int]]:
    """Size and modification time of all files; one directory scan is far cheaper than a call per file."""
    stats = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    info = entry.stat()
                except OSError:  # a dangling link is a missing image
                    continue
                stats[entry.name] = (info.st_size, info.st_mtime_ns)
    except OSError:
        return {}
    return stats


def _open(entry: Path, length: int) -> Frames | None:
    """The entry, or None if it is absent or damaged (then it is cleared away, to be built again)."""
    if not entry.is_dir():
        return None
    try:
        images = np.load(entry / FRAMES, mmap_mode="r" if length else None, allow_pickle=False)
        with np.load(entry / DESCRIPTION, allow_pickle=False) as stored:
            frames = Frames(images, *(stored[column.name] for column in fields(Frames)[1:]))
        if images.shape == (length, IMAGE_SIZE, IMAGE_SIZE, 3) and all(len(values) == length for values in vars(frames).values()):
            return frames
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # damaged in one way or another: the answer is the same
    shutil.rmtree(entry, ignore_errors=True)
    return None


def _build(entry: Path, tub: Path, image_paths: Sequence[ImageFile]) -> None:
    _clear_abandoned(entry.parent)
    building = Path(tempfile.mkdtemp(prefix=BUILDING, dir=entry.parent))
    try:
        shape = (len(image_paths), IMAGE_SIZE, IMAGE_SIZE, 3)
        with open(building / FRAMES, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
            _reserve(file, int(np.prod(shape)))
        images = np.load(building / FRAMES, mmap_mode="r+" if shape[0] else None, allow_pickle=False)
        frames = _decode_all(tub.name, image_paths, images)
        if isinstance(images, np.memmap):
            images.flush()
        np.savez(building / DESCRIPTION, **{name: values for name, values in vars(frames).items() if name != "images"})
        (building / ORIGIN).write_text(json.dumps({"tub": str(tub.resolve())}), encoding="utf-8")
        _publish(building, entry)
        _drop_older(entry, tub)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _reserve(file: BinaryIO, size: int) -> None:
    """Take the disk space now: a full disk then fails here and not as a bus error in the memory map."""
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), file.tell(), size)
    else:
        file.truncate(file.tell() + size)


def _publish(building: Path, entry: Path) -> None:
    try:
        os.rename(building, entry)
    except OSError:
        if not entry.is_dir():  # otherwise another process built the same entry first, which is as good
            raise


def _decode_all(title: str, image_paths: Sequence[ImageFile], images: np.ndarray) -> Frames:
    """Decode into `images`, in threads (OpenCV releases the interpreter lock)."""
    length = len(image_paths)
    digests = np.zeros((2, length), np.uint64)
    frames = Frames(images, np.zeros(length, np.uint8), np.zeros((length, 4), np.int32), *digests)

    def decode(start: int) -> int:
        for row in range(start, min(start + CHUNK, length)):
            image = decode_image_file(image_paths[row])
            frames.status[row] = image.status
            frames.shape[row] = image.height, image.width, image.channels, image.bits
            frames.file_digest[row] = image.digest
            if image.pixels is not None:
                images[row] = image.pixels
            frames.pixel_digest[row] = digest_frame(images[row])
        return min(CHUNK, length - start)

    with Progress(f"decoding {title}", total=length, unit="images") as bar, ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(decode, range(0, length, CHUNK)):
            bar.advance(done)
    return frames


def _drop_older(entry: Path, tub: Path) -> None:
    """Remove entries of the same tub in an earlier state, or a tub that grows would fill the disk."""
    for other in entry.parent.iterdir():
        if other == entry or other.name.startswith(BUILDING):
            continue
        try:
            origin = read_untrusted_json(other / ORIGIN)["tub"]
        except (OSError, AiccError, KeyError, TypeError):
            continue
        if origin == str(tub.resolve()):
            shutil.rmtree(other, ignore_errors=True)


def _clear_abandoned(folder: Path) -> None:
    for left in folder.glob(f"{BUILDING}*"):
        try:
            if time.time() - left.stat().st_mtime > ABANDONED_AFTER_S:
                shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue
