"""A picture of the tracked path over the track, drawn on a frame of the video."""

from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.overhead.setup_file import OverheadSetup
from donkey_aicc.overhead.tracking import MarkerPath

_BITS = 4  # sub-pixel bits of cv2's drawing
_JUMP_S = 0.2  # sightings further apart are not joined by a line
_INK, _PAPER = (25, 25, 25), (255, 255, 255)
_LINE_BGR = (60, 60, 60)
_WIDTH_PX = 1280


def draw_path(frame_bgr: np.ndarray, setup: OverheadSetup, path: MarkerPath, title: str) -> np.ndarray:
    """(rows, columns, 3) uint8 BGR: path coloured by |cte| (blue 0, red its 99 % quantile), centreline dark, title below."""
    factor = min(1.0, _WIDTH_PX / frame_bgr.shape[1])
    image = cv2.resize(frame_bgr, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    image = cv2.addWeighted(image, 0.5, np.full_like(image, 255), 0.5, 0.0)  # pale, so that the path stands out
    line = setup.floor.to_pixel(setup.centreline.points[::5]) * factor
    cv2.polylines(image, [_fixed(line)], True, _PAPER, 4, cv2.LINE_AA, _BITS)
    cv2.polylines(image, [_fixed(line)], True, _LINE_BGR, 2, cv2.LINE_AA, _BITS)
    _draw_direction(image, line)
    distance = np.abs(setup.centreline.project(path.xy)[1])
    largest = float(np.nanquantile(distance, 0.99)) or 1.0
    shades = (255 * np.clip(np.nan_to_num(distance) / largest, 0, 1)).astype(np.uint8)
    colours = cv2.applyColorMap(shades[:, None], cv2.COLORMAP_TURBO)[:, 0].tolist()
    rows = np.flatnonzero(path.seen)
    points = _fixed(path.px * factor)
    for first, second in zip(rows[:-1], rows[1:], strict=True):
        if path.times_s[second] - path.times_s[first] <= _JUMP_S:
            cv2.line(image, points[first].tolist(), points[second].tolist(), colours[second], 2, cv2.LINE_AA, _BITS)
    return np.vstack([image, _caption(image.shape[1], largest, title)])


def save_picture(path: str | Path, bgr: np.ndarray) -> None:
    """Write a picture in one piece; the suffix chooses the format."""
    with atomic_path(path) as temporary:
        if not cv2.imwrite(str(temporary), bgr):
            raise AiccError(f"could not write the picture {path}")


def _fixed(points: np.ndarray) -> np.ndarray:
    return np.round(np.nan_to_num(points) * (1 << _BITS)).astype(np.int32)


def _draw_direction(image: np.ndarray, line: np.ndarray) -> None:
    """Arrows along the centreline: the sign of cte depends on the direction."""
    for start in range(0, len(line), max(1, len(line) // 8)):
        tail, head = _whole(line[start]), _whole(line[(start + 4) % len(line)])
        cv2.arrowedLine(image, tail, head, _LINE_BGR, 2, cv2.LINE_AA, 0, 0.5)


def _whole(point: np.ndarray) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))


def _caption(width: int, largest_m: float, title: str) -> np.ndarray:
    strip = np.full((44, width, 3), 255, np.uint8)
    ramp = cv2.applyColorMap(np.linspace(0, 255, 160).astype(np.uint8)[None].repeat(14, axis=0), cv2.COLORMAP_TURBO)
    left = max(0, width - 340)
    strip[15:29, left : left + 160] = ramp[:, : width - left]
    text = f"|cte| 0 to {largest_m:.2f} m"
    cv2.putText(strip, text, (left + 170, 27), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA)
    cv2.putText(strip, title, (12, 27), cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA)
    return strip
