"""How far a frame is from the cloud of nominal feature vectors, by a mean and spread that still hold on the next drive."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError

FEW_DRIVES = 5  # below: the spread between drives is known so badly that no rate of false alarms can be promised
ENOUGH_DRIVES = 12
# Of nominal values lie below mean + 2 spreads, where a score ends. So many, because several scores are looked at together: of
# nominal frames at most one in twenty may have any of them at its maximum.
_COVERED = 0.995
_WITHIN = 1.288  # two such spreads are the normal distribution's 2.576 deviations
_WIDEST = 8.5  # two drives cannot promise anything: beyond this a score would no longer see anything either


def widening(drives: int) -> float:
    """Factor on a deviation between drives that was measured on `drives` of them, so that it covers one drive more.

    Student's t: what is measured on n drives covers as much as the truth only when stretched by t(n - 1) / 2 * sqrt(1 + 1 / n).
    5.7 for three drives, 3.3 for four, 1.6 for twelve; it never falls below 1.29.
    """
    from scipy.stats import t  # heavy, and only fits need it

    return min(float(t.ppf(_COVERED, max(drives - 1, 1)) / 2.0 * np.sqrt(1.0 + 1.0 / drives)), _WIDEST)


def next_drive_spread(values: np.ndarray, drive: np.ndarray) -> tuple[float, float]:
    """Mean and spread of values (N,), the part between drives (N,) widened by what their number allows.

    One drive alone says nothing about others: they are then taken to differ as much as its own frames do.
    """
    names, number = np.unique(drive, return_inverse=True)
    counts = np.bincount(number)
    means = np.bincount(number, weights=values) / counts
    within = float(np.mean((values - means[number]) ** 2)) * _WITHIN**2
    between = float(means.var(ddof=1)) * widening(len(names)) ** 2 if len(names) > 1 else within
    return float(values.mean()), float(np.sqrt(within + between))


def too_few_drives(drives: int) -> str:
    """A sentence for a person, empty when there are enough drives."""
    if drives >= ENOUGH_DRIVES:
        return ""
    stretched = f"nominal spreads between drives are stretched {widening(drives):.1f} times to cover the next drive"
    if drives < FEW_DRIVES:
        return (
            f"only {drives} calibration drives: {stretched}, anomalies are seen later, and neither the confidence nor the rate "
            f"of false alarms can be promised on other drives; record enough for {ENOUGH_DRIVES}"
        )
    return f"{drives} calibration drives: {stretched}; with {ENOUGH_DRIVES} or more the scores become sharper"


# How far a stored mean and spread may be from those of a sample of the same nominal drives: a held-out drive lies further out, a
# spread is widened for few drives (`_WIDEST`), and a hundred rows do not say more. Beyond it an anomaly would never be seen.
_MOST_SPREADS = 2 * _WIDEST
_MOST_MEANS = 4.0


def check_scale(name: str, mu: float, sigma: float, values: np.ndarray) -> None:
    """values: (n,) of nominal rows. Raise unless mu and sigma could have been measured on rows like these."""
    if not (np.isfinite([mu, sigma]).all() and sigma > 0.0):
        raise AiccError(f"{name}: mu and sigma must be finite, sigma > 0, got {mu:g} and {sigma:g}")
    largest, spread = float(np.abs(values).max()), float(values.std())
    if abs(mu) > _MOST_MEANS * largest + 1e-9:
        raise AiccError(f"{name}: mu must fit the nominal rows beside it, whose largest value is {largest:.4g}, got {mu:.4g}")
    if sigma > _MOST_SPREADS * spread + spread_floor(mu, 0.0):
        raise AiccError(f"{name}: sigma must fit the nominal rows beside it, whose spread is {spread:.4g}, got {sigma:.4g}")


ALPHA = 2.0  # a score of 1 stands ALPHA nominal standard deviations above the nominal mean
_DEGENERATE = 1e-9  # a spread below this share of the feature's size is rounding noise


def spread_floor(mean: float, sigma: float) -> float:
    """A spread to divide by: the measured one, or a thousandth of the mean when nothing varied."""
    return max(sigma, 1e-3 * abs(mean), 1e-12)


MOST_INVERSE = 1e15  # with larger ones no eigenvalue can be found


@dataclass(frozen=True)
class MahalanobisScore:
    """Standardise D features, measure sqrt(x' (cov + lambda I)^-1 x), then (distance - mu) / (2 sigma).

    A feature that never changed in the calibration data has no spread to measure against: it is left out of the
    distance (its row and column of the inverse are zero) instead of dividing by nearly nothing.
    """

    mean: np.ndarray  # (D,)
    scale: np.ndarray  # (D,) 1 for a feature that is left out
    inverse: np.ndarray  # (D, D)
    mu: float
    sigma: float

    @classmethod
    def fit(cls, x: np.ndarray, regularisation: float = 1e-6, groups: np.ndarray | None = None) -> "MahalanobisScore":
        """x: (N, D) nominal rows. With groups (N,), the drive of each row, mu and sigma come from distances to the cloud of the
        other drives and cover the next drive (`next_drive_spread`)."""
        x = np.asarray(x, dtype=np.float64)
        if len(x) < 2 or not np.isfinite(x).all():
            raise AiccError(f"a distance needs at least 2 finite calibration rows, got {len(x)}, finite: {np.isfinite(x).all()}")
        cloud = cls._cloud(x, regularisation)
        distance = cloud._held_out(x, regularisation, groups)
        mu, sigma = (float(distance.mean()), float(distance.std())) if groups is None else next_drive_spread(distance, groups)
        return cls(cloud.mean, cloud.scale, cloud.inverse, mu, spread_floor(mu, sigma))

    def _held_out(self, x: np.ndarray, regularisation: float, groups: np.ndarray | None) -> np.ndarray:
        """(N,) distance of each row to the cloud of the other drives; to this cloud if there are none."""
        distance = self.distance(x)
        names = [] if groups is None else np.unique(groups).tolist()
        for name in names if len(names) > 1 else []:
            own = groups == name
            distance[own] = self._cloud(x[~own], regularisation).distance(x[own])
        return distance

    @classmethod
    def _cloud(cls, x: np.ndarray, regularisation: float) -> "MahalanobisScore":
        mean, scale = x.mean(axis=0), x.std(axis=0)
        alive = scale > _DEGENERATE * np.maximum(np.abs(mean), 1.0)
        scale = np.where(alive, scale, 1.0)
        inverse = np.zeros((x.shape[1], x.shape[1]))
        if alive.any():
            standard = ((x - mean) / scale)[:, alive]
            covariance = np.atleast_2d(np.cov(standard, rowvar=False)) + regularisation * np.eye(int(alive.sum()))
            inverse[np.ix_(alive, alive)] = np.linalg.inv(covariance)
        return cls(mean, scale, inverse, 0.0, 1.0)

    def standardised(self, x: np.ndarray) -> np.ndarray:
        """(..., D) -> (..., D) in nominal standard deviations from the nominal mean."""
        return (np.asarray(x, dtype=np.float64) - self.mean) / self.scale

    def distance(self, x: np.ndarray) -> np.ndarray:
        """(..., D) -> (...) Mahalanobis distance."""
        standard = self.standardised(x)
        return np.sqrt(np.maximum(((standard @ self.inverse) * standard).sum(axis=-1), 0.0))

    def normalised(self, x: np.ndarray) -> np.ndarray:
        """(..., D) -> (...) unclipped score."""
        return (self.distance(x) - self.mu) / (ALPHA * self.sigma)

    def to_json(self) -> dict[str, Any]:
        return {
            "mean": self.mean.tolist(),
            "scale": self.scale.tolist(),
            "inverse": self.inverse.tolist(),
            "mu": self.mu,
            "sigma": self.sigma,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "MahalanobisScore":
        arrays = {name: np.array(stored[name], dtype=np.float64) for name in ("mean", "scale", "inverse")}
        return cls(**arrays, mu=float(stored["mu"]), sigma=float(stored["sigma"]))

    def check(self, name: str) -> None:
        """Raise unless this is a distance: finite, sizes that belong together, never negative."""
        size = self.mean.size
        shapes = (self.mean.shape, self.scale.shape, self.inverse.shape)
        if shapes != ((size,), (size,), (size, size)):
            raise AiccError(f"{name} has shapes {shapes} that do not belong together")
        for part in ("mean", "scale", "inverse", "mu", "sigma"):
            if not np.isfinite(getattr(self, part)).all():
                raise AiccError(f"{name}.{part} must be finite")
        if not (self.scale > 0).all() or not self.sigma > 0:
            raise AiccError(f"{name}: scale and sigma must be > 0, got {self.scale.min():g} and {self.sigma:g}")
        largest = np.abs(self.inverse).max(initial=0.0)
        if not largest <= MOST_INVERSE:
            raise AiccError(f"{name}.inverse must hold numbers up to {MOST_INVERSE:g}, got {largest:g}")
        least = np.linalg.eigvalsh((self.inverse + self.inverse.T) / 2.0).min() if size else 0.0
        if least < -1e-6 * max(1.0, largest):
            raise AiccError(f"{name}.inverse must give distances >= 0, its least eigenvalue is {least:.3g}")

    def check_nominal(self, name: str, x: np.ndarray, regularisation: float = 1e-6, groups: np.ndarray | None = None) -> None:
        """x: (n, D) nominal rows. Raise unless the cloud lies where they do, and sees every direction in which they vary.

        With groups (n,), mu and sigma are compared with held-out distances, as `fit` measured them.
        The inverse of a covariance of D standardised features has no eigenvalue below about 1 / D.
        """
        self.check(name)
        standard = self.standardised(x)
        varies = x.std(axis=0) > _DEGENERATE * np.maximum(np.abs(x.mean(axis=0)), 1.0)
        middle, spread = np.abs(standard.mean(axis=0)), standard.std(axis=0)
        if (middle[varies] > 1.0).any() or (spread[varies] < 0.2).any() or (spread[varies] > 5.0).any():
            raise AiccError(f"{name}: mean and scale must be those of the nominal rows beside it")
        seen = self.inverse[np.ix_(varies, varies)]
        if varies.any() and np.linalg.eigvalsh((seen + seen.T) / 2.0).min() < 0.1 / varies.sum():
            raise AiccError(f"{name}.inverse must see every direction in which nominal rows vary")
        check_scale(name, self.mu, self.sigma, self._held_out(x, regularisation, groups))
