"""The closed line that a car should follow, and where a place lies relative to it."""

import numpy as np
from scipy.interpolate import CubicSpline

from donkey_aicc.errors import ConfigError

SPACING_M = 0.01
LONGEST_M = 2000.0
_REACH_M = 0.8  # how far from the last place the next one is looked for before the whole line is searched


class Centreline:
    """A closed line through points in driving order; `smooth` lays a curve through them, else straight pieces.

    points: (N, 2) metres, about SPACING_M apart, the last one spacing before the first. length_m: once around.
    """

    def __init__(self, corners_m: np.ndarray, smooth: bool = True, reverse: bool = False) -> None:
        corners = _distinct(np.asarray(corners_m, float).reshape(-1, 2))
        if reverse:
            corners = np.vstack([corners[:1], corners[:0:-1]])
        outline = _curve(corners) if smooth else np.vstack([corners, corners[:1]])
        arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(outline, axis=0).T))])
        self.length_m = float(arc[-1])
        if not 0.5 <= self.length_m <= LONGEST_M:  # what is stored of it grows with its length
            raise ConfigError(f"the centreline must be from 0.5 to {LONGEST_M:g} m long, got {self.length_m:.2f} m")
        count = max(16, round(self.length_m / SPACING_M))
        at = np.arange(count) * self.length_m / count
        self.points = np.stack([np.interp(at, arc, outline[:, 0]), np.interp(at, arc, outline[:, 1])], axis=1)
        self._along = np.roll(self.points, -1, axis=0) - self.points

    @property
    def spacing_m(self) -> float:
        return self.length_m / len(self.points)

    def project(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, 2) metres in order of time -> (n,) distance along the line and (n,) cte, positive right of it; NaN stays NaN.

        Each place is looked for near the one before, so that a car between two pieces of lane stays on its own.
        """
        xy = np.asarray(xy, float).reshape(-1, 2)
        along, cte = np.full(len(xy), np.nan), np.full(len(xy), np.nan)
        last: int | None = None
        for row in np.flatnonzero(np.isfinite(xy).all(axis=1)):
            last = self._nearest(xy[row], last)
            along[row], cte[row] = self._foot(xy[row], last)
        return along, cte

    def distance(self, xy: np.ndarray) -> np.ndarray:
        """(n, 2) metres -> (n,) distance to the nearest point of the line, whatever came before."""
        points = self.points[:: max(1, len(self.points) // 500)]
        return np.sqrt(((np.asarray(xy, float)[:, None, :] - points[None]) ** 2).sum(axis=2).min(axis=1))

    def _nearest(self, place: np.ndarray, last: int | None) -> int:
        count, reach = len(self.points), int(_REACH_M / self.spacing_m)
        if last is not None and 2 * reach < count:
            window = np.arange(last - reach, last + reach + 1) % count
            best = int(((self.points[window] - place) ** 2).sum(axis=1).argmin())
            if 0 < best < 2 * reach:
                return int(window[best])
        return int(((self.points - place) ** 2).sum(axis=1).argmin())

    def _foot(self, place: np.ndarray, nearest: int) -> tuple[float, float]:
        """Distance along the line and signed distance from it, by the better of the two pieces at the nearest point."""
        best = (np.inf, 0.0, 0.0)
        turn = 0.0
        for piece in (nearest - 1, nearest):
            start, along = self.points[piece], self._along[piece]
            share = float(np.clip((place - start) @ along / (along @ along), 0.0, 1.0))
            away = place - start - share * along
            turn += float(along[1] * away[0] - along[0] * away[1])
            distance = float(np.hypot(*away))
            if distance < best[0]:
                best = (distance, (piece % len(self.points) + share) * self.spacing_m, 0.0)
        # At a corner both pieces count for the side: outside of it each alone might say the wrong one.
        return best[1] % self.length_m, float(np.copysign(best[0], turn))


def _distinct(corners: np.ndarray) -> np.ndarray:
    """Without repeated neighbours, which a double click or a closed list leaves."""
    if not np.isfinite(corners).all():
        raise ConfigError("the centreline must hold numbers only")
    step = np.hypot(*(corners - np.roll(corners, 1, axis=0)).T) if len(corners) else np.empty(0)
    kept = corners[step > 1e-4]
    if len(kept) < 3:
        raise ConfigError(f"the centreline needs at least 3 different points, got {len(kept)}")
    return kept


def _curve(corners: np.ndarray) -> np.ndarray:
    """Closed cubic spline; parameter by the root of the distance, which does not overshoot between uneven clicks."""
    closed = np.vstack([corners, corners[:1]])
    knots = np.concatenate([[0.0], np.cumsum(np.sqrt(np.hypot(*np.diff(closed, axis=0).T)))])
    spline = CubicSpline(knots, closed, bc_type="periodic")
    return spline(np.linspace(0.0, knots[-1], 60 * len(corners) + 1))
