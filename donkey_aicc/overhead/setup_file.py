"""The setup file: everything that turns an overhead video into positions on the track."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.files import read_json
from donkey_aicc.overhead.centreline import Centreline
from donkey_aicc.overhead.floor import Floor, Lens, estimate_k1
from donkey_aicc.overhead.marker import MarkerColour
from donkey_aicc.stored import flag, number

SCHEMA = 1
KEYS = {"schema", "image_size_px", "floor_points", "lens_k1", "straight_lines_px", "marker", "camera_m"}
KEYS |= {"centreline_m", "centreline_px", "smooth", "reverse"}
LARGEST = 1e5  # of any number: no pixel and no metre of a room is beyond
MOST_POINTS = 2000  # of the floor, of the centreline, of a straight thing
MARKER_KEYS = {"hsv_low", "hsv_high", "size_m", "height_m"}


@dataclass(frozen=True, eq=False)
class OverheadSetup:
    """Checked and ready to use. Pixels are (column, row); metres have x right and y up as seen from above."""

    size_px: tuple[int, int]  # width, height of the video
    floor_px: np.ndarray  # (n, 2)
    floor_m: np.ndarray  # (n, 2)
    lens_k1: float
    colour: MarkerColour
    centreline_m: np.ndarray  # (k, 2) corners in order
    marker_size_m: float | None = None  # side of a square of the marker's area
    marker_height_m: float = 0.0
    camera_m: tuple[float, float, float] | None = None
    smooth: bool = True
    reverse: bool = False  # drive against the order of the corners

    @cached_property
    def floor(self) -> Floor:
        lens = Lens(self.size_px, self.lens_k1)
        return Floor(self.floor_px, self.floor_m, lens, self.marker_height_m, self.camera_m)

    @cached_property
    def centreline(self) -> Centreline:
        return Centreline(self.centreline_m, self.smooth, self.reverse)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "image_size_px": list(self.size_px),
            "floor_points": [
                {"px": px, "m": m} for px, m in zip(_rounded(self.floor_px, 2), _rounded(self.floor_m, 4), strict=True)
            ],
            "lens_k1": round(self.lens_k1, 5),
            "marker": {
                "hsv_low": list(self.colour.low),
                "hsv_high": list(self.colour.high),
                "size_m": self.marker_size_m,
                "height_m": self.marker_height_m,
            },
            "camera_m": list(self.camera_m) if self.camera_m else None,
            "centreline_m": _rounded(self.centreline_m, 4),
            "smooth": self.smooth,
            "reverse": self.reverse,
        }


def parse_setup(given: Any, size_px: tuple[int, int] | None = None) -> OverheadSetup:
    """Check a setup as read from JSON; size_px is the video's, when there is one.

    Besides what is stored, inputs may give the centreline as clicked pixels (`centreline_px`) and the lens by pixels along
    straight things (`straight_lines_px`).
    """
    fields = _object(given, "the setup", KEYS)
    if fields.get("schema", SCHEMA) != SCHEMA:
        raise ConfigError(f"schema must be {SCHEMA}, got {fields['schema']!r}; this file is from another version")
    size = _size(fields.get("image_size_px"), size_px)
    floor_px, floor_m = _floor_points(fields)
    marker = _object(fields.get("marker"), "marker", MARKER_KEYS)
    setup = OverheadSetup(
        size_px=size,
        floor_px=floor_px,
        floor_m=floor_m,
        lens_k1=_lens(fields, size),
        colour=parse_colour(fields),
        centreline_m=parse_corners(fields, parse_floor(fields, size)),
        marker_size_m=_marker_size(marker.get("size_m")),
        marker_height_m=_number(marker.get("height_m", 0.0), "marker height_m"),
        camera_m=_camera(fields.get("camera_m")),
        smooth=flag("smooth", fields.get("smooth", True)),
        reverse=flag("reverse", fields.get("reverse", False)),
    )
    _ = setup.centreline  # checks it
    return setup


def parse_floor(fields: Mapping[str, Any], size: tuple[int, int]) -> Floor:
    """The floor alone, of a setup that may be unfinished otherwise."""
    floor_px, floor_m = _floor_points(fields)
    marker = _object(fields.get("marker") or {}, "marker", MARKER_KEYS)
    height_m = _number(marker.get("height_m", 0.0), "marker height_m")
    return Floor(floor_px, floor_m, Lens(size, _lens(fields, size)), height_m, _camera(fields.get("camera_m")))


def parse_colour(fields: Mapping[str, Any]) -> MarkerColour:
    """The marker's colour alone."""
    marker = _object(fields.get("marker"), "marker", MARKER_KEYS)
    return MarkerColour(_hsv(marker, "hsv_low"), _hsv(marker, "hsv_high"))


def parse_corners(fields: Mapping[str, Any], floor: Floor) -> np.ndarray:
    """(k, 2) metres: the centreline's corners."""
    clicked, measured = fields.get("centreline_px"), fields.get("centreline_m")
    if (clicked is None) == (measured is None):
        raise ConfigError("give the centreline either as centreline_m or as centreline_px")
    return floor.to_floor(_points(clicked, "centreline_px")) if clicked is not None else _points(measured, "centreline_m")


def parse_lines(fields: Mapping[str, Any]) -> list[np.ndarray]:
    """(n, 2) pixels of each straight thing."""
    lines = fields.get("straight_lines_px")
    if not isinstance(lines, list):
        raise ConfigError(f"straight_lines_px must be a list of lines, each a list of pixels, got {lines!r}")
    return [_points(line, "straight_lines_px") for line in lines]


def load_setup(path: str | Path, size_px: tuple[int, int] | None = None) -> OverheadSetup:
    """Read and check a setup file."""
    given = read_json(path, "make it with: donkey-aicc overhead calibrate VIDEO")
    try:
        return parse_setup(given, size_px)
    except AiccError as error:
        raise ConfigError(f"{path}: {error}") from error


def _object(value: Any, name: str, allowed: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must be an object with the keys {', '.join(sorted(allowed))}, got {value!r}")
    unknown = sorted(set(value) - allowed)
    if unknown:
        raise ConfigError(f"{name}: unknown key {', '.join(unknown)}; allowed are {', '.join(sorted(allowed))}")
    return value


def _size(given: Any, video: tuple[int, int] | None) -> tuple[int, int]:
    if given is None and video is not None:
        return video
    if not (isinstance(given, list) and len(given) == 2 and all(isinstance(v, int) and 16 <= v <= LARGEST for v in given)):
        raise ConfigError(f"image_size_px must be [width, height] in whole pixels, got {given!r}")
    size = (given[0], given[1])
    if video is not None and size != video:
        raise ConfigError(f"the setup is for a picture of {size[0]}x{size[1]}, the video has {video[0]}x{video[1]}")
    return size


def _number(value: Any, name: str) -> float:
    return number(name, value, -LARGEST, LARGEST)


def _points(value: Any, name: str) -> np.ndarray:
    """(n, 2) float64."""
    if not isinstance(value, list):
        raise ConfigError(f"{name} must be a list of [first, second] pairs, got {value!r}")
    if len(value) > MOST_POINTS:
        raise ConfigError(f"{name} must hold at most {MOST_POINTS} points, got {len(value)}")
    for place, pair in enumerate(value, start=1):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ConfigError(f"{name}: point {place} must be a pair of numbers, got {pair!r}")
    return np.array([[_number(part, name) for part in pair] for pair in value], float).reshape(-1, 2)


def _floor_points(fields: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    points = fields.get("floor_points")
    if not isinstance(points, list):
        raise ConfigError(f'floor_points must be a list of {{"px": [column, row], "m": [x, y]}}, got {points!r}')
    pairs = [_object(point, f"floor point {place}", {"px", "m"}) for place, point in enumerate(points, start=1)]
    return _points([pair.get("px") for pair in pairs], "floor_points px"), _points(
        [pair.get("m") for pair in pairs], "floor_points m"
    )


def _lens(fields: Mapping[str, Any], size: tuple[int, int]) -> float:
    """Straight things in the picture beat a number, for they are what the number comes from."""
    if fields.get("straight_lines_px"):
        return estimate_k1(size, parse_lines(fields))
    return _number(fields.get("lens_k1", 0.0), "lens_k1")


def _camera(value: Any) -> tuple[float, float, float] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 3:
        raise ConfigError(f"camera_m must be [x, y, height] in metres, got {value!r}")
    x, y, height = (_number(part, "camera_m") for part in value)
    return x, y, height


def _hsv(marker: Mapping[str, Any], key: str) -> tuple[int, int, int]:
    value = marker.get(key)
    if not isinstance(value, list) or len(value) != 3:
        raise ConfigError(f"marker {key} must be [hue, saturation, value], got {value!r}")
    hue, saturation, brightness = (round(_number(part, f"marker {key}")) for part in value)
    return hue, saturation, brightness


def _marker_size(value: Any) -> float | None:
    return None if value is None else number("marker size_m", value, 0.005, 1.0)


def _rounded(points: np.ndarray, digits: int) -> list[list[float]]:
    return [[round(float(value), digits) for value in point] for point in points]
