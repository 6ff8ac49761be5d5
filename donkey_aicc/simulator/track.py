"""A closed centreline and where the car is relative to it."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from donkey_aicc.simulator.closed_curves import ClosedSpline

SPACING_M = 0.02
ARENA_MARGIN_M = 0.9  # floor between the lane's edge and the wall
CLEARANCE_M = 0.1  # floor between the edges of two neighbouring pieces of lane
_DIGITS = 9  # the last bits of a spline differ between processors
_SEARCH_M = 0.6  # how far from the hinted place projection looks before it searches everywhere


@dataclass(frozen=True, eq=False)
class Track:
    """A closed track in metres; distances `s_m` along it run in driving direction from the start line.

    centreline: (N, 2) float64, evenly spaced, the last point one spacing before the first.
    headings: (N,) radians counter-clockwise from +x. curvature: (N,) 1/m, positive in left turns.
    arena: (xmin, ymin, xmax, ymax) of the walls.
    """

    name: str
    centreline: np.ndarray
    headings: np.ndarray
    curvature: np.ndarray
    half_width_m: float
    length_m: float
    arena: tuple[float, float, float, float]

    @property
    def spacing_m(self) -> float:
        return self.length_m / len(self.centreline)

    @cached_property
    def min_radius_m(self) -> float:
        return 1.0 / float(np.abs(self.curvature).max())

    def project(self, x: float, y: float, hint_s_m: float | None = None) -> tuple[float, float, float]:
        """(s_m, cte_m, heading) of the nearest place; cte is positive right of the centreline.

        With a hint only the neighbourhood is searched, so a car between two pieces of lane stays on its own.
        """
        nearest = self._nearest_index(x, y, hint_s_m)
        heading = float(self.headings[nearest])
        dx, dy = x - float(self.centreline[nearest, 0]), y - float(self.centreline[nearest, 1])
        cos, sin = math.cos(heading), math.sin(heading)
        along = dx * cos + dy * sin
        # Beyond half a spacing the foot point would belong to a neighbour, unless the car is far inside a bend.
        along = max(-0.5, min(0.5, along / self.spacing_m)) * self.spacing_m
        heading += float(self.curvature[nearest]) * along
        cte_m = dx * math.sin(heading) - dy * math.cos(heading)
        return (nearest * self.spacing_m + along) % self.length_m, cte_m, _wrap_angle(heading)

    def _nearest_index(self, x: float, y: float, hint_s_m: float | None) -> int:
        xs, ys, reach = self._unrolled
        count = len(self.centreline)
        if hint_s_m is not None:
            first = int(hint_s_m / self.spacing_m) % count
            window = slice(first, first + 2 * reach + 1)
            best = int(((xs[window] - x) ** 2 + (ys[window] - y) ** 2).argmin())
            if 0 < best < 2 * reach:
                return (first + best - reach) % count
        return int(((xs[reach : reach + count] - x) ** 2 + (ys[reach : reach + count] - y) ** 2).argmin())

    @cached_property
    def _unrolled(self) -> tuple[np.ndarray, np.ndarray, int]:
        """x and y with `reach` points of the other end on both sides, so that any neighbourhood is one slice."""
        reach = int(_SEARCH_M / self.spacing_m)
        xs, ys = np.pad(self.centreline, ((reach, reach), (0, 0)), mode="wrap").T
        return np.ascontiguousarray(xs), np.ascontiguousarray(ys), reach

    def pose_at(self, s_m: float, offset_m: float = 0.0) -> tuple[float, float, float]:
        """(x, y, yaw) on the lane at s_m, `offset_m` to the right of the centreline, facing along it."""
        position = (s_m % self.length_m) / self.spacing_m
        index = int(position) % len(self.centreline)
        along = (position - int(position)) * self.spacing_m
        yaw = float(self.headings[index]) + float(self.curvature[index]) * along
        x = float(self.centreline[index, 0]) + along * math.cos(yaw) + offset_m * math.sin(yaw)
        y = float(self.centreline[index, 1]) + along * math.sin(yaw) - offset_m * math.cos(yaw)
        return x, y, _wrap_angle(yaw)

    def lane_edge(self, offset_m: float) -> np.ndarray:
        """(N, 2) the centreline shifted to the right by offset_m."""
        normal = np.stack([np.sin(self.headings), -np.cos(self.headings)], axis=1)
        return self.centreline + offset_m * normal

    def min_clearance_m(self) -> float:
        """Smallest distance between two places that are not neighbours along the track."""
        points = self.centreline[::4]
        step_m = 4 * self.spacing_m
        gap = np.abs(np.arange(len(points))[:, None] - np.arange(len(points)))
        along = np.minimum(gap, len(points) - gap) * step_m
        distance = np.hypot(*(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1))
        # On the tightest allowed bend, places further apart than this lie on opposite sides of it.
        return float(distance[along > 4.0 * self.half_width_m].min())


def build_track(name: str, waypoints: np.ndarray, half_width_m: float) -> Track:
    """A track through (K, 2) waypoints in driving order: one closed cubic spline, resampled evenly."""
    closed = np.vstack([waypoints, waypoints[:1]])
    chord = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    spline = ClosedSpline(chord, closed)
    dense = np.linspace(0.0, chord[-1], 20 * len(closed) + 1)
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(spline(dense), axis=0).T))])
    length_m = round(float(arc[-1]), _DIGITS)
    count = round(length_m / SPACING_M)
    at = np.interp(np.arange(count) * length_m / count, arc, dense)
    centreline, velocity, acceleration = (np.round(spline(at, order), _DIGITS) for order in (0, 1, 2))
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    curvature = (velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0]) / speed**3
    curvature, headings = np.round(curvature, _DIGITS), np.round(np.arctan2(velocity[:, 1], velocity[:, 0]), _DIGITS)
    margin = half_width_m + ARENA_MARGIN_M
    (xmin, ymin), (xmax, ymax) = centreline.min(axis=0) - margin, centreline.max(axis=0) + margin
    arena = (float(xmin), float(ymin), float(xmax), float(ymax))
    for array in (centreline, headings, curvature):
        array.setflags(write=False)
    return Track(name, centreline, headings, curvature, half_width_m, length_m, arena)


def _wrap_angle(angle: float) -> float:
    return math.remainder(angle, 2.0 * math.pi)
