"""Inductive Venn-Abers prediction (Vovk, Petej and Fedorova, 2015).

For a frame with probability p the isotonic curve is fitted twice to the calibration frames and this frame, once taken as unsafe
and once as safe; its own values are p0 and p1. One probability from both: p1 / (1 - p0 + p1), the one with the least regret.
"""

from typing import Any

import numpy as np

from donkey_aicc.calibration.base import clip_probability
from donkey_aicc.calibration.per_horizon import PerHorizon, loaded_steps
from donkey_aicc.errors import AiccError

Steps = tuple[np.ndarray, np.ndarray]  # where a step function changes, and its value from there (p0) or up to there (p1)


def upper_values(p: np.ndarray, y: np.ndarray) -> Steps:
    """(m,) distinct sorted scores s and the isotonic value at s when (s, 1) is added to the samples p, y: (n,).

    All m fits in one pass over the corners of the cumulative sum diagram (their Algorithms 1 and 2).
    """
    scores, number = np.unique(p, return_inverse=True)
    count = np.bincount(number).astype(np.float64)
    sums = np.bincount(number, weights=y)
    # (-1, -1), (0, 0) and the running (count, sum); a list of tuples, because it is walked point by point.
    x, h = np.concatenate([[-1.0, 0.0], np.cumsum(count)]), np.concatenate([[-1.0, 0.0], np.cumsum(sums)])
    points = list(zip(x.tolist(), h.tolist(), strict=True))
    corners: list[tuple[float, float]] = []
    for point in reversed(points):  # right to left, so that the leftmost corner ends on top
        while len(corners) > 1 and _not_right_turn(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    values = np.empty(len(scores))
    moved = points[0]
    for i in range(len(scores)):
        (x0, y0), (x1, y1) = corners[-1], corners[-2]
        values[i] = (y1 - y0) / (x1 - x0)
        # Without the added label the points left of here move on by this score's own step.
        step = (points[i + 2][0] - points[i + 1][0], points[i + 2][1] - points[i + 1][1])
        moved = (moved[0] + step[0], moved[1] + step[1])
        if (moved[1] - y0) * (x1 - x0) >= (y1 - y0) * (moved[0] - x0):  # on or above the lowest corner line
            continue
        corners.pop()
        while len(corners) > 1 and _not_right_turn(corners[-2], corners[-1], moved):
            corners.pop()
        corners.append(moved)
    return scores, values


def _not_right_turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Walking left from a over b to c along a convex curve turns right at b."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]) >= 0.0


def lower_values(p: np.ndarray, y: np.ndarray) -> Steps:
    """The same when (s, 0) is added: the mirror image of `upper_values`."""
    scores, values = upper_values(-p, 1.0 - y)
    return -scores[::-1], 1.0 - values[::-1]


class VennAbers(PerHorizon):
    """confidence = p1 / (1 - p0 + p1); below all calibration scores p0 is 0, above all of them p1 is 1."""

    kind, stored_as, shown_as = "venn_abers", "steps", "Venn-Abers"

    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> tuple[Steps, Steps]:
        return _first_of_runs(*lower_values(p, y)), _last_of_runs(*upper_values(p, y))

    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        (lower_at, lower), (upper_at, upper) = curve
        p0 = np.concatenate([[0.0], lower])[np.searchsorted(lower_at, p, side="right")]
        p1 = np.concatenate([upper, [1.0]])[np.searchsorted(upper_at, p, side="left")]
        return clip_probability(p1 / (1.0 - p0 + p1))

    def loaded_curve(self, name: str, stored: Any) -> tuple[Steps, Steps]:
        """p1 / (1 - p0 + p1) rises with both where 0 <= p0 <= p1 <= 1, and each of them is a curve that rises."""
        lower, upper = (loaded_steps(name, steps) for steps in stored)
        p0 = lower[1]  # from its place on; p1 holds up to its place
        p1 = np.append(upper[1], 1.0)[np.searchsorted(upper[0], lower[0], side="left")]
        if (p0 > p1).any():
            raise AiccError(f"{name}: the value taken as unsafe must not lie above the one taken as safe")
        return lower, upper


def _first_of_runs(where: np.ndarray, values: np.ndarray) -> Steps:
    """Only where the value becomes another one."""
    kept = np.concatenate([[True], np.diff(values) != 0])
    return where[kept], values[kept]


def _last_of_runs(where: np.ndarray, values: np.ndarray) -> Steps:
    kept = np.concatenate([np.diff(values) != 0, [True]])
    return where[kept], values[kept]
