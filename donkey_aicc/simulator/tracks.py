"""The tracks that ship, and a generator that makes a valid one from any seed."""

import math
from functools import lru_cache

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.closed_curves import smoothed
from donkey_aicc.simulator.track import CLEARANCE_M, Track, build_track
from donkey_aicc.simulator.vehicle import VehicleConfig

HALF_WIDTH_M = 0.35
MIN_RADIUS_M = 1.2 * VehicleConfig().turning_radius_m
_EASE_M = 0.15  # how softly a bend begins; an abrupt change of curvature cannot be driven
_WAYPOINT_M = 0.25

# Corners in driving order (metres) and the radius they are rounded with. The start line is on the first edge.
_CORNERS: dict[str, tuple[list[tuple[float, float]], float]] = {
    "loop": (
        [(0, 0), (6.2, 0), (6.2, 3.4), (4.3, 3.7), (3.9, 1.8), (2.2, 1.65), (1.9, 3.9), (0, 3.6)],
        0.72,
    ),
    "oval": ([(0, 0), (7.4, 0), (7.4, 2.8), (0, 2.8)], 1.4),
    "hairpin": (
        [(0, 0), (7.0, 0), (7.0, 1.7), (2.3, 1.8), (2.3, 3.4), (7.0, 3.5), (7.0, 5.2), (0, 5.0)],
        0.78,
    ),
    "chicane": (
        [(0, 0), (1.9, 0), (2.8, 1.0), (4.1, 1.0), (5.0, 0), (7.2, 0)]
        + [(7.2, 3.8), (5.3, 3.8), (4.4, 2.7), (3.1, 2.7), (2.2, 3.9), (0, 3.7)],
        0.75,
    ),
}
TRACK_NAMES = tuple(_CORNERS)
_SEED_PREFIX = "seed:"
_MOST_DIGITS = 18


@lru_cache(maxsize=16)
def make_track(name: str = "loop") -> Track:
    """A shipped track by name, or `seed:123` for a generated one."""
    if name in _CORNERS:
        corners, radius_m = _CORNERS[name]
        return build_track(name, _rounded(np.array(corners, float), radius_m), HALF_WIDTH_M)
    digits = name.removeprefix(_SEED_PREFIX) if isinstance(name, str) else ""
    if isinstance(name, str) and name.startswith(_SEED_PREFIX) and digits.isdecimal() and len(digits) <= _MOST_DIGITS:
        return generate_track(int(digits))
    raise ConfigError(f"track must be one of {', '.join(TRACK_NAMES)} or seed:<number>; got {name!r}")


def generate_track(seed: int) -> Track:
    """A drivable track that never crosses itself, the same for the same seed.

    Corners are scattered around a centre in angular order; a draft that is too tight or too narrow is thrown away,
    and each new one is a little rounder, so that a valid one is always reached.
    """
    if seed < 0:
        raise ConfigError(f"track seed must be >= 0, got {seed}")
    rng = np.random.default_rng([seed, 20])
    for attempt in range(60):
        roughness = 1.0 - attempt / 59.0
        corners = _random_corners(rng, roughness)
        radius_m = float(rng.uniform(0.65, 0.9))
        track = build_track(f"{_SEED_PREFIX}{seed}", _rounded(corners, radius_m), HALF_WIDTH_M)
        if is_drivable(track):
            return track
    raise AssertionError("a regular polygon is always drivable")


def is_drivable(track: Track) -> bool:
    """Bends the car can follow, room between neighbouring pieces of lane, and driven counter-clockwise once around."""
    wide_enough = track.min_clearance_m() >= 2 * track.half_width_m + CLEARANCE_M
    turns = float(np.sum(track.curvature) * track.spacing_m) / (2 * math.pi)
    return track.min_radius_m >= max(MIN_RADIUS_M, track.half_width_m) and wide_enough and abs(abs(turns) - 1) < 0.05


def _random_corners(rng: np.random.Generator, roughness: float) -> np.ndarray:
    count = int(rng.integers(6, 11))
    angles = 2 * math.pi * (np.arange(count) + roughness * rng.uniform(-0.3, 0.3, count)) / count
    reach = 2.6 * (1.0 - roughness * rng.uniform(0.0, 0.62, count))
    stretch = 1.0 + roughness * rng.uniform(0.0, 0.5)
    corners = np.stack([stretch * reach * np.cos(angles), reach * np.sin(angles)], axis=1)
    return corners * max(1.0, 17.0 / _perimeter(corners))


def _perimeter(corners: np.ndarray) -> float:
    return float(np.hypot(*(np.roll(corners, -1, axis=0) - corners).T).sum())


def _rounded(corners: np.ndarray, radius_m: float) -> np.ndarray:
    """(K, 2) waypoints along a polygon whose corners are replaced by eased arcs; starts on the first edge."""
    pieces = []
    count = len(corners)
    for i in range(count):
        pieces.append(_arc(corners[i - 1], corners[i], corners[(i + 1) % count], radius_m))
    # The start line is 40 % along the first edge, away from the bends on both sides.
    start = 0.6 * pieces[0][-1] + 0.4 * pieces[1][0]
    outline = np.vstack([start[None], *pieces[1:], pieces[0]])
    fine = _evenly(outline, 0.01)
    smooth = smoothed(fine, _EASE_M / 0.01)
    return _evenly(smooth, _WAYPOINT_M)


def _arc(before: np.ndarray, corner: np.ndarray, after: np.ndarray, radius_m: float) -> np.ndarray:
    """Points of the arc that touches both edges at a corner; the radius shrinks if an edge is too short for it."""
    back, front = before - corner, after - corner
    room = 0.48 * min(np.hypot(*back), np.hypot(*front))
    back, front = back / np.hypot(*back), front / np.hypot(*front)
    half_angle = 0.5 * math.acos(float(np.clip(back @ front, -1.0, 1.0)))
    cut = min(radius_m / math.tan(half_angle), room)
    radius = cut * math.tan(half_angle)
    middle = back + front
    length = float(np.hypot(*middle))
    if length < 1e-6:  # no bend at all
        return corner[None]
    centre = corner + middle / length * math.hypot(cut, radius)
    first, last = corner + cut * back - centre, corner + cut * front - centre
    start = math.atan2(first[1], first[0])
    sweep = math.remainder(math.atan2(last[1], last[0]) - start, 2 * math.pi)
    angles = start + np.linspace(0.0, sweep, 24)
    return centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _evenly(points: np.ndarray, spacing_m: float) -> np.ndarray:
    """Points of a closed outline at (nearly) the given spacing, starting at the first."""
    closed = np.vstack([points, points[:1]])
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    at = np.arange(round(arc[-1] / spacing_m)) * arc[-1] / round(arc[-1] / spacing_m)
    return np.stack([np.interp(at, arc, closed[:, 0]), np.interp(at, arc, closed[:, 1])], axis=1)
