"""A whole drive as one picture: the track from above with the path coloured by a value."""

import math
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.files import atomic_path
from donkey_aicc.simulator.track import Track
from donkey_aicc.simulator.view_from_above import OverheadCamera

_JUMP_M = 0.6  # further apart, the car was put back: no line
_BAR_PX = 92
_INK = (20.0, 20.0, 20.0)


def draw_drive(
    track: Track,
    xy: np.ndarray,
    values: np.ndarray,
    label: str,
    path: str | Path | None = None,
    limits: tuple[float, float] | None = None,
    width_px: int = 900,
) -> np.ndarray:
    """(rows, columns, 3) uint8 RGB; written to `path` (its suffix chooses the format) when given.

    xy: (T, 2) metres. values: (T,), coloured from low (blue) to high (red) between limits (default: their 1 % and
    99 % quantiles); where a value is not finite the path is grey.
    """
    xy, values = np.asarray(xy, float).reshape(-1, 2), np.asarray(values, float).ravel()
    if len(xy) == 0 or len(xy) != len(values):
        raise AiccError(f"a drive picture needs as many values as positions (at least 1), got {len(values)} and {len(xy)}")
    low, high = limits if limits is not None else _spread(values)
    xmin, ymin, xmax, ymax = track.arena
    overhead = OverheadCamera(track, width_px, round(width_px * (ymax - ymin) / (xmax - xmin)))
    floor = overhead.render(*_first_pose(xy))
    image = cv2.addWeighted(floor, 0.55, np.full_like(floor, 255), 0.45, 0.0)  # pale, so that the path stands out
    _draw_path(image, overhead, xy, _colours(values, low, high))
    image = np.hstack([image, _colour_bar(image.shape[0], low, high, label)])
    if path is not None:
        with atomic_path(path) as temporary:
            if not cv2.imwrite(str(temporary), cv2.cvtColor(image, cv2.COLOR_RGB2BGR)):
                raise AiccError(f"could not write the picture {path}")
    return image


def _first_pose(xy: np.ndarray) -> tuple[float, float, float]:
    moved = np.flatnonzero(np.hypot(*(xy - xy[0]).T) > 0.05)
    towards = xy[moved[0]] - xy[0] if len(moved) else np.array([1.0, 0.0])
    return float(xy[0, 0]), float(xy[0, 1]), math.atan2(towards[1], towards[0])


def _spread(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return 0.0, 1.0
    low, high = (float(q) for q in np.quantile(finite, [0.01, 0.99]))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _colours(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """(T, 3) RGB floats."""
    position = np.clip((values - low) / (high - low), 0.0, 1.0)
    shades = np.nan_to_num(255.0 * position).astype(np.uint8)[:, None]
    colours = cv2.applyColorMap(shades, cv2.COLORMAP_TURBO)[:, 0, ::-1].astype(float)
    colours[~np.isfinite(values)] = 130.0
    return colours


def _draw_path(image: np.ndarray, overhead: OverheadCamera, xy: np.ndarray, colours: np.ndarray) -> None:
    bits = 4
    pixels = np.round(overhead.world_to_pixel(xy) * (1 << bits)).astype(int)
    steps = np.hypot(*np.diff(xy, axis=0).T)
    for i, step in enumerate(steps):
        if step <= _JUMP_M:
            start, end = tuple(pixels[i].tolist()), tuple(pixels[i + 1].tolist())
            cv2.line(image, start, end, tuple(colours[i + 1].tolist()), 3, cv2.LINE_AA, bits)


def _colour_bar(height_px: int, low: float, high: float, label: str) -> np.ndarray:
    bar = np.full((height_px, _BAR_PX, 3), 255, np.uint8)
    top, bottom = 40, height_px - 40
    ramp = _colours(np.linspace(high, low, max(2, bottom - top)), low, high)
    bar[top : top + len(ramp), 12:30] = ramp[:, None, :].astype(np.uint8)
    for share in (0.0, 0.5, 1.0):
        row = round(bottom - share * (bottom - top))
        _write(bar, f"{low + share * (high - low):.3g}", (36, row + 4))
    _write(bar, label, (8, 24))
    return bar


def _write(image: np.ndarray, text: str, at: tuple[int, int]) -> None:
    width = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.42, 1)[0][0]
    scale = 0.42 * min(1.0, (_BAR_PX - at[0] - 4) / max(1, width))
    cv2.putText(image, text, at, cv2.FONT_HERSHEY_SIMPLEX, scale, _INK, 1, cv2.LINE_AA)
