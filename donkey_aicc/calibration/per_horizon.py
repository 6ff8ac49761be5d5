"""Calibrators that look at nothing but the probability: as it is, or through one fitted curve per horizon.

The curves end with inductive Venn-Abers prediction (Vovk, Petej and Fedorova, 2015). For a frame with probability p the isotonic
curve is fitted twice to the calibration frames and this frame, once taken as unsafe and once as safe; its own values are p0 and
p1. One probability from both: p1 / (1 - p0 + p1), the one with the least regret.
"""

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np

from donkey_aicc.calibration.base import (
    Calibrator,
    ScoreMap,
    checked_probability,
    clip_probability,
    labelled_samples,
    logit,
    sigmoid,
)
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.scoring.score_table import ScoreTable

_BOUND = 50.0  # of Platt's coefficients: keeps separable data from running away
Y_MIN, Y_MAX = 0.01, 0.99
BINS = 15
Self = TypeVar("Self", bound="PerHorizon")


class Uncalibrated(Calibrator):
    """confidence = p, as a row to compare with."""

    kind, shown_as = "none", "Uncalibrated"

    def fit(self, table: ScoreTable, pool: Pool | None = None) -> "Uncalibrated":
        return self

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return checked_probability(p).copy()

    def parameters(self) -> dict[str, Any]:
        return {}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        """Nothing was fitted."""


class PerHorizon(Calibrator):
    """One curve per horizon, fitted on the labelled nominal rows: arrays in a fixed nesting, stored as lists."""

    stored_as: ClassVar[str]  # key in JSON

    def __init__(self, name: str = "", label: str = "", uses_tta: bool = False) -> None:
        super().__init__(name, label, uses_tta)
        self.curves: dict[int, Any] = {}

    def fit(self: Self, table: ScoreTable, pool: Pool | None = None) -> Self:
        p = self.probability_of(table)
        for column, horizon in enumerate(table.horizons):
            self.curves[int(horizon)] = self.fitted_curve(*labelled_samples(table, p, column, self.name))
        return self

    @abstractmethod
    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> Any:
        """p, y: (n,); an array, or tuples of such."""

    @abstractmethod
    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        """(N,) confidence for p (N,)."""

    def calibrate(self, p: np.ndarray, scores: ScoreMap, horizon: int) -> np.ndarray:
        return self.along(self.of_horizon(self.curves, horizon), checked_probability(p))

    def parameters(self) -> dict[str, Any]:
        return {self.stored_as: {str(horizon): _as_lists(curve) for horizon, curve in self.curves.items()}}

    def load_parameters(self, stored: dict[str, Any]) -> None:
        self.curves = {int(horizon): _as_arrays(curve) for horizon, curve in stored[self.stored_as].items()}
        for curve in self.curves.values():
            self.along(curve, np.array([0.5]))  # one of another shape fails here, and not in the drive


def _as_lists(curve: Any) -> Any:
    return [_as_lists(each) for each in curve] if isinstance(curve, tuple) else curve.tolist()


def _as_arrays(stored: Any) -> Any:
    """A list of lists becomes a tuple: two curves have no common length."""
    if stored and isinstance(stored[0], list):
        return tuple(_as_arrays(each) for each in stored)
    return np.array(stored, dtype=np.float64)


class PlattScaling(PerHorizon):
    """confidence = sigmoid(a_k logit(p) + b_k): a slope and an offset on the logit."""

    kind, stored_as, shown_as = "platt", "coefficients", "Platt scaling"

    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(2,): a and b with the least NLL."""
        from scipy.optimize import minimize  # only fits need it: the car loads no scipy

        x = logit(p)

        def nll(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            z = parameters[0] * x + parameters[1]
            error = sigmoid(z) - y
            return float((np.logaddexp(0.0, z) - y * z).mean()), np.array([(error * x).mean(), error.mean()])

        limits, options = [(-_BOUND, _BOUND)] * 2, {"ftol": 1e-14, "gtol": 1e-9}
        return minimize(nll, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=limits, options=options).x

    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        slope, offset = curve
        return sigmoid(slope * logit(p) + offset)


class IsotonicCalibration(PerHorizon):
    """Monotone piecewise-linear curve with values in [0.01, 0.99]; sklearn fits it, numpy applies it."""

    kind, stored_as, shown_as = "isotonic", "curves", "Isotonic regression"

    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.isotonic import IsotonicRegression  # only needed offline

        fitted = IsotonicRegression(y_min=Y_MIN, y_max=Y_MAX, out_of_bounds="clip").fit(p, y)
        return fitted.X_thresholds_.astype(np.float64), fitted.y_thresholds_.astype(np.float64)

    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        x, y = curve
        return np.interp(p, x, y)


class HistogramBinning(PerHorizon):
    """confidence = share of safe frames in each of 15 equal bins; a bin without calibration frames keeps its centre."""

    kind, stored_as, shown_as = "histogram", "values", "Histogram binning"

    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        counts, safe = (np.bincount(_bin_of(p, BINS), weights=weights, minlength=BINS) for weights in (None, y))
        return np.where(counts > 0, safe / np.maximum(counts, 1), (np.arange(BINS) + 0.5) / BINS)

    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        return curve[_bin_of(p, len(curve))]


def _bin_of(p: np.ndarray, bins: int) -> np.ndarray:
    """1.0 belongs to the last one."""
    return np.minimum((p * bins).astype(np.int64), bins - 1)


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


def _first_of_runs(where: np.ndarray, values: np.ndarray) -> Steps:
    """Only where the value becomes another one."""
    kept = np.concatenate([[True], np.diff(values) != 0])
    return where[kept], values[kept]


def _last_of_runs(where: np.ndarray, values: np.ndarray) -> Steps:
    kept = np.concatenate([np.diff(values) != 0, [True]])
    return where[kept], values[kept]
