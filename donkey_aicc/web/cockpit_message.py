"""One tick of a drive -> one message for the page: what it says as JSON, then the camera picture as JPEG.

Layout: 4 bytes length of the JSON (big end first), the JSON, the rest is the JPEG (may be empty).
"""

import base64
import json
import math
from typing import Any

import cv2
import numpy as np

LARGEST_JPEG = 9_000  # bytes; at 10 Hz a viewer then stays well under 150 kB/s
_WIDEST_PX = 320
_LONGEST_TEXT = 200
_LONGEST_LIST = 64
HEAT_SIDE = 16
USUAL_TIMES = 4.0  # the mean error: edges and small things of nominal frames reach it, 19 of 20 places stay below


def pack(said: dict[str, Any], jpeg: bytes = b"") -> bytes:
    """The bytes of one message."""
    text = json.dumps(said, separators=(",", ":"), allow_nan=False).encode()
    return len(text).to_bytes(4, "big") + text + jpeg


def plain(value: Any) -> Any:
    """A channel's value as JSON can hold it, short: numbers rounded, what is not finite or not known None."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return value[:_LONGEST_TEXT]
    if isinstance(value, int | float | np.number):
        try:
            number = float(value)
        except OverflowError:
            return None
        return round(number, 4) if math.isfinite(number) else None
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in list(value)[:_LONGEST_LIST]] if np.ndim(value) == 1 else None
    return None


def jpeg_of(image: Any) -> bytes:
    """(rows, columns[, 1 or 3]) uint8 RGB -> JPEG of bounded size; empty when this is no picture."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim not in (2, 3) or 0 in image.shape:
        return b""
    if image.ndim == 3 and image.shape[2] not in (1, 3):
        return b""
    picture = cv2.cvtColor(image, cv2.COLOR_RGB2BGR) if image.ndim == 3 and image.shape[2] == 3 else image
    for width, quality in ((_WIDEST_PX, 75), (_WIDEST_PX, 50), (160, 50), (96, 40)):
        if picture.shape[1] > width:
            size = (width, max(1, round(picture.shape[0] * width / picture.shape[1])))
            picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        done, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
        if done and len(encoded) <= LARGEST_JPEG:
            return bytes(encoded.tobytes())
    return b""


def heat_of(squared_error: np.ndarray, nominal_error: float) -> str:
    """Where the picture cannot be rebuilt: (C, H, W) squared error -> base64 of HEAT_SIDE x HEAT_SIDE bytes, row by row.

    0: at most USUAL_TIMES the mean error of nominal frames. 255: ten times that, or more; logarithmic in between.
    """
    per_pixel = np.asarray(squared_error, np.float32).mean(axis=0)
    coarse = cv2.resize(per_pixel, (HEAT_SIDE, HEAT_SIDE), interpolation=cv2.INTER_AREA)
    times = np.log10(np.maximum(coarse / (USUAL_TIMES * max(nominal_error, 1e-9)), 1.0))
    return base64.b64encode(np.clip(255.0 * np.nan_to_num(times), 0, 255).round().astype(np.uint8).tobytes()).decode()
