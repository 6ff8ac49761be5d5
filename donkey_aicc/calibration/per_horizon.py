"""Calibrators that look at nothing but the probability: as it is, or through one fitted curve per horizon."""

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np

from donkey_aicc.calibration.base import (
    P_SAFE,
    Calibrator,
    ScoreMap,
    checked_probability,
    clip_probability,
    labelled_samples,
    logit,
    sigmoid,
)
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.stored import array, by_horizon, number, rising

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

    def load_parameters(self, stored: dict[str, Any]) -> None:
        """Nothing was fitted."""


class PerHorizon(Calibrator):
    """One curve per horizon, fitted on the labelled nominal rows: arrays in a fixed nesting, stored as lists.

    A curve that is loaded never falls, and no score has a part in it: the promise of `Calibrator` follows.
    """

    stored_as: ClassVar[str]  # key in JSON

    def __init__(self, name: str = "", label: str = "", starts_from: str = P_SAFE) -> None:
        super().__init__(name, label, starts_from)
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
        curves = by_horizon(self.stored_as, stored[self.stored_as])
        self.curves = {
            horizon: self.loaded_curve(f"{self.stored_as} of horizon {horizon}", each) for horizon, each in curves.items()
        }

    def loaded_curve(self, name: str, stored: Any) -> Any:
        """What `fitted_curve` gives, from lists; refuses one that falls."""
        raise AiccError(f"no car drives with a calibrator of kind {self.kind}")


def _as_lists(curve: Any) -> Any:
    return [_as_lists(each) for each in curve] if isinstance(curve, tuple) else curve.tolist()


def loaded_steps(name: str, stored: Any, low: float = 0.0, high: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Where a curve changes, within 0..1, and its values there; both rise, and there is at least one."""
    where, values = (
        rising(name, array(name, part, *limits)) for part, limits in zip(stored, ((0.0, 1.0), (low, high)), strict=True)
    )
    if not len(where) or where.shape != values.shape:
        raise AiccError(f"{name} must have as many values as places and at least one, got {len(values)} and {len(where)}")
    return where, values


class PlattScaling(PerHorizon):
    """confidence = sigmoid(a_k logit(p) + b_k): a slope and an offset on the logit."""

    kind, stored_as, shown_as = "platt", "coefficients", "Platt scaling"

    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(2,): a and b with the least NLL."""
        return _logistic_fit(logit(p)[:, None], y, [(0.0, _BOUND), (-_BOUND, _BOUND)])

    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        slope, offset = curve
        return sigmoid(slope * logit(p) + offset)

    def loaded_curve(self, name: str, stored: Any) -> np.ndarray:
        slope, offset = stored
        return np.array(
            [number(f"the slope of {name}", slope, 0.0, _BOUND), number(f"the offset of {name}", offset, -_BOUND, _BOUND)]
        )


class BetaCalibration(PerHorizon):
    """confidence = sigmoid(a_k ln p - b_k ln(1 - p) + c_k), a, b >= 0 (Kull, Silva Filho and Flach, 2017): two slopes."""

    kind, stored_as, shown_as = "beta", "coefficients", "Beta calibration"

    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(3,): a, b and c with the least NLL."""
        return _logistic_fit(_log_odds(p), y, [(0.0, _BOUND), (0.0, _BOUND), (-_BOUND, _BOUND)])

    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        return sigmoid(_log_odds(p) @ curve[:2] + curve[2])

    def loaded_curve(self, name: str, stored: Any) -> np.ndarray:
        first, second, offset = stored
        slopes = [number(f"a slope of {name}", slope, 0.0, _BOUND) for slope in (first, second)]
        return np.array([*slopes, number(f"the offset of {name}", offset, -_BOUND, _BOUND)])


def _log_odds(p: np.ndarray) -> np.ndarray:
    """(n,) -> (n, 2): ln p and -ln(1 - p), the two halves of the logit."""
    clipped = clip_probability(checked_probability(p))
    return np.stack([np.log(clipped), -np.log1p(-clipped)], axis=1)


def _logistic_fit(x: np.ndarray, y: np.ndarray, limits: list[tuple[float, float]]) -> np.ndarray:
    """Slopes of x (n, d) and an offset, (d + 1,), with the least NLL of sigmoid(x w + b)."""
    from scipy.optimize import minimize  # only fits need it: the car loads no scipy

    inputs = np.column_stack([x, np.ones(len(x))])

    def nll(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        z = inputs @ parameters
        return float((np.logaddexp(0.0, z) - y * z).mean()), (sigmoid(z) - y) @ inputs / len(y)

    options = {"ftol": 1e-14, "gtol": 1e-9}
    start = np.append(np.ones(x.shape[1]), 0.0)
    return minimize(nll, start, jac=True, method="L-BFGS-B", bounds=limits, options=options).x


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

    def loaded_curve(self, name: str, stored: Any) -> tuple[np.ndarray, np.ndarray]:
        return loaded_steps(name, stored, Y_MIN, Y_MAX)


class HistogramBinning(PerHorizon):
    """confidence = share of safe frames in each of 15 equal bins; a bin without calibration frames keeps its centre.

    A row to compare with: nothing keeps the share from falling from one bin to the next, so no car drives with it.
    """

    kind, stored_as, shown_as = "histogram", "values", "Histogram binning"

    def fitted_curve(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        counts, safe = (np.bincount(_bin_of(p, BINS), weights=weights, minlength=BINS) for weights in (None, y))
        return np.where(counts > 0, safe / np.maximum(counts, 1), (np.arange(BINS) + 0.5) / BINS)

    def along(self, curve: Any, p: np.ndarray) -> np.ndarray:
        return curve[_bin_of(p, BINS)]


def _bin_of(p: np.ndarray, bins: int) -> np.ndarray:
    """1.0 belongs to the last one."""
    return np.minimum((p * bins).astype(np.int64), bins - 1)
