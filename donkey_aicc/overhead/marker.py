"""The marker's colour: a range in OpenCV's HSV (hue 0-179, saturation and value 0-255), and how to pick it from a click."""

from dataclasses import dataclass

import cv2
import numpy as np

from donkey_aicc.errors import AiccError, ConfigError

_WINDOW_PX = 60  # half side of the window around a click in which the marker is grown
_DULLEST = 50  # below this saturation a hue means nothing


@dataclass(frozen=True)
class MarkerColour:
    """low and high are (hue, saturation, value), both included; low hue > high hue goes through red (179 -> 0)."""

    low: tuple[int, int, int]
    high: tuple[int, int, int]

    def __post_init__(self) -> None:
        for name, values in (("hsv_low", self.low), ("hsv_high", self.high)):
            if len(values) != 3 or not all(isinstance(value, int) for value in values):
                raise ConfigError(f"marker {name} must be three whole numbers (hue, saturation, value), got {values!r}")
            for part, value, limit in zip(("hue", "saturation", "value"), values, (179, 255, 255), strict=True):
                if not 0 <= value <= limit:
                    raise ConfigError(f"marker {name}: {part} must be from 0 to {limit}, got {value}")
        for part, low, high in zip(("saturation", "value"), self.low[1:], self.high[1:], strict=True):
            if low >= high:
                raise ConfigError(f"marker hsv range is impossible: lowest {part} {low} is not below the highest {high}")

    def mask(self, bgr: np.ndarray) -> np.ndarray:
        """(rows, columns, 3) uint8 BGR -> (rows, columns) uint8, 255 where the colour fits."""
        hsv = cv2.cvtColor(bgr, cv2.COLOR_BGR2HSV)
        if self.low[0] <= self.high[0]:
            return _between(hsv, self.low, self.high)
        upper = _between(hsv, self.low, (179, *self.high[1:]))
        return cv2.bitwise_or(upper, _between(hsv, (0, *self.low[1:]), self.high))


def _between(hsv: np.ndarray, low: tuple[int, int, int], high: tuple[int, int, int]) -> np.ndarray:
    return cv2.inRange(hsv, np.array(low), np.array(high))


def pick_colour(bgr: np.ndarray, x: float, y: float) -> tuple[MarkerColour, float]:
    """The colour range of the marker clicked at (x, y), wide enough for shade and noise, and its area in pixels."""
    rows, columns = bgr.shape[:2]
    column, row = int(round(x)), int(round(y))
    if not (0 <= column < columns and 0 <= row < rows):
        raise ConfigError(f"the clicked point must lie in the picture of {columns}x{rows}, got ({x:.0f}, {y:.0f})")
    top, left = max(0, row - _WINDOW_PX), max(0, column - _WINDOW_PX)
    window = cv2.GaussianBlur(bgr[top : row + _WINDOW_PX + 1, left : column + _WINDOW_PX + 1], (3, 3), 0)
    hsv = cv2.cvtColor(window, cv2.COLOR_BGR2HSV).astype(int)
    middle = (row - top, column - left)
    patch = hsv[max(0, middle[0] - 2) : middle[0] + 3, max(0, middle[1] - 2) : middle[1] + 3].reshape(-1, 3)
    saturation, value = np.median(patch[:, 1]), np.median(patch[:, 2])
    if saturation < _DULLEST or value < 40:
        raise AiccError(
            f"the clicked spot has hardly any colour (saturation {saturation:.0f}, value {value:.0f} of 255): "
            "click the middle of the marker, or use a more vivid one"
        )
    seed_hue = int(patch[np.argsort(-patch[:, 1])[len(patch) // 2], 0])
    turned = (hsv[..., 0] - seed_hue + 90) % 180 - 90  # hue relative to the seed, -90..89
    alike = (np.abs(turned) <= 12) & (hsv[..., 1] > 0.5 * saturation) & (hsv[..., 2] > 0.5 * value)
    inside = _component_at(alike, middle)
    hues = np.percentile(turned[inside], [2, 98])
    margin = max(6.0, 0.5 * float(hues[1] - hues[0]))
    low_hue, high_hue = (int(round(seed_hue + hue)) % 180 for hue in (hues[0] - margin, hues[1] + margin))
    # Shade takes value and some saturation away; brightness has no upper end.
    least = np.percentile(hsv[inside][:, 1:], 5, axis=0)
    low = (low_hue, int(max(_DULLEST, 0.55 * least[0])), int(max(25, 0.3 * least[1])))
    return MarkerColour(low, (high_hue, 255, 255)), float(inside.sum())


def _component_at(alike: np.ndarray, middle: tuple[int, int]) -> np.ndarray:
    """The connected part of a mask that holds the clicked pixel, or the nearest one to it."""
    _, labels = cv2.connectedComponents(alike.astype(np.uint8))
    chosen = labels[middle]
    if chosen == 0:
        rows, columns = np.nonzero(labels)
        if len(rows) == 0:
            raise AiccError("no marker-like spot around the click; click the middle of the marker")
        nearest = np.argmin((rows - middle[0]) ** 2 + (columns - middle[1]) ** 2)
        chosen = labels[rows[nearest], columns[nearest]]
    return labels == chosen
