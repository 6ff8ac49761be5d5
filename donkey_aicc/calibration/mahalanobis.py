"""Distance from the nominal cloud of feature vectors, normalised by its own nominal mean and spread."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.calibration.next_drive import next_drive_spread
from donkey_aicc.errors import AiccError

ALPHA = 2.0  # a score of 1 stands ALPHA nominal standard deviations above the nominal mean
_DEGENERATE = 1e-9  # a spread below this share of the feature's size is rounding noise


def spread_floor(mean: float, sigma: float) -> float:
    """A spread to divide by: the measured one, or a thousandth of the mean when nothing varied."""
    return max(sigma, 1e-3 * abs(mean), 1e-12)


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
        other drives and cover the next drive (`next_drive`)."""
        x = np.asarray(x, dtype=np.float64)
        if len(x) < 2 or not np.isfinite(x).all():
            raise AiccError(f"a distance needs at least 2 finite calibration rows, got {len(x)}, finite: {np.isfinite(x).all()}")
        cloud = cls._cloud(x, regularisation)
        distance = cloud.distance(x)
        names = [] if groups is None else list(dict.fromkeys(groups.tolist()))
        if groups is not None and len(names) > 1:
            for name in names:
                own = groups == name
                distance[own] = cls._cloud(x[~own], regularisation).distance(x[own])
        mu, sigma = (float(distance.mean()), float(distance.std())) if groups is None else next_drive_spread(distance, groups)
        return cls(cloud.mean, cloud.scale, cloud.inverse, mu, spread_floor(mu, sigma))

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
