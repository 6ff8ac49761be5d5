"""Opens one image file of a tub and says what is wrong with it, if anything."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.preprocess import decode_jpeg, to_model_image
from donkey_aicc.untrusted import read_own

OK, MISSING, ZERO_BYTE, TRUNCATED, UNREADABLE = range(5)
STATUS_NAMES = ("ok", "missing", "zero-byte", "truncated", "unreadable")

JPEG_START, JPEG_SCAN, JPEG_END = b"\xff\xd8", b"\xff\xda", b"\xff\xd9"
MAX_IMAGE_BYTES = 32 << 20
MAX_PIXELS = 40_000_000
PNG_START, PNG_END = b"\x89PNG", b"IEND"


@dataclass(frozen=True)
class DecodedImage:
    """`pixels` is the model image, None unless status is OK; the rest describes the file itself."""

    status: int
    pixels: np.ndarray | None = None  # (64, 64, 3) uint8 RGB
    height: int = 0
    width: int = 0
    channels: int = 0
    bits: int = 0
    digest: int = 0  # of the file's bytes, to find frames that were stored twice


def decode_image_file(path: str | Path | None) -> DecodedImage:
    """Read, check, decode and resize; never raises for a damaged file."""
    if path is None:
        return DecodedImage(MISSING)
    try:
        data = read_own(path, MAX_IMAGE_BYTES)
    except FileNotFoundError:
        return DecodedImage(MISSING)
    except (OSError, AiccError):
        return DecodedImage(UNREADABLE)
    if not data:
        return DecodedImage(ZERO_BYTE)
    if is_truncated(data):
        return DecodedImage(TRUNCATED)
    width, height, mode = _head(data)
    if width * height > MAX_PIXELS:
        return DecodedImage(UNREADABLE)
    return _decode(data, (height, width) if data.startswith(JPEG_START) and mode in ("L", "RGB") else None, mode == "RGB")


def is_truncated(data: bytes) -> bool:
    """A JPEG without an end mark behind its last scan, or a PNG without its last chunk.

    OpenCV decodes such a file without complaint and fills the lost part with grey.
    """
    if data.startswith(JPEG_START):
        return data.find(JPEG_END, max(data.rfind(JPEG_SCAN), 0)) < 0
    if data.startswith(PNG_START):
        return PNG_END not in data
    return False


def decode_whole(path: Path) -> np.ndarray | None:
    """(height, width, 3) uint8 RGB for people to look at, None if the file cannot be read."""
    try:
        data = read_own(path, MAX_IMAGE_BYTES)
        width, height, _ = _head(data)
        if width * height > MAX_PIXELS:
            return None
        stored = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except (OSError, AiccError, cv2.error):
        return None
    return None if stored is None else np.asarray(stored[:, :, ::-1])


def _head(data: bytes) -> tuple[int, int, str]:
    """Width, height and Pillow's mode as the file's head says it: a few bytes can claim gigabytes."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return image.width, image.height, image.mode
    except Image.DecompressionBombError:
        return MAX_PIXELS + 1, 1, ""
    except Exception:  # Pillow's own, of many kinds; OpenCV will say whether it can read the file
        return 0, 0, ""


def _decode(data: bytes, jpeg_size: tuple[int, int] | None, colour: bool) -> DecodedImage:
    """jpeg_size: height and width of a plain JPEG, which may be decoded at a smaller size."""
    packed = np.frombuffer(data, dtype=np.uint8)
    try:
        # Unchanged keeps grey and alpha visible for the report, and like donkeycar ignores EXIF rotation.
        stored = decode_jpeg(packed, *jpeg_size, colour) if jpeg_size else cv2.imdecode(packed, cv2.IMREAD_UNCHANGED)
    except cv2.error:
        stored = None
    if stored is None or stored.dtype not in (np.uint8, np.uint16):
        return DecodedImage(UNREADABLE)
    channels = 1 if stored.ndim == 2 else stored.shape[2]
    if channels not in (1, 3, 4):
        return DecodedImage(UNREADABLE)
    bits = 8 * stored.dtype.itemsize
    if bits == 16:
        stored = np.rint(stored / 257.0).astype(np.uint8)
    return DecodedImage(
        status=OK,
        pixels=to_model_image(stored)[:, :, ::-1],  # OpenCV decodes to BGR; swapping 64x64 pixels is the cheap place
        height=jpeg_size[0] if jpeg_size else stored.shape[0],
        width=jpeg_size[1] if jpeg_size else stored.shape[1],
        channels=channels,
        bits=bits,
        digest=int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little"),
    )
