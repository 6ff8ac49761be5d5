"""How far a frame is from nominal: from the cloud of feature vectors, and from the nearest calibration frames.

Both are normalised by a nominal mean and spread that still hold on the next drive, from as few drives as there are.
"""

import base64
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
        other drives and cover the next drive (`next_drive_spread`)."""
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


NEIGHBOURS = 10
MAX_REFERENCES = 1000
_FLOAT16_MAX = 6e4
_CHUNK = 4096


@dataclass(frozen=True)
class FeatureDensity:
    """Mean Euclidean distance to the k nearest reference features.

    At test time no reference comes from the sequence being driven. So mu and sigma are measured the same way: every
    calibration frame looks for neighbours in the other sequences only (neighbouring frames are almost copies).
    """

    references: np.ndarray  # (R, F) float32, already rounded to float16 so that storing them changes nothing
    neighbours: int
    mu: float
    sigma: float

    @classmethod
    def fit(
        cls,
        features: np.ndarray,
        sequence: np.ndarray,
        neighbours: int = NEIGHBOURS,
        max_references: int = MAX_REFERENCES,
        seed: int = 0,
    ) -> "FeatureDensity":
        """features: (N, F) of calibration frames; sequence: (N,) their sequence ids."""
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.permutation(len(features))[:max_references])
        references = _rounded(features[chosen])
        own = sequence[chosen]
        probes = np.sort(rng.permutation(len(features))[: 4 * max_references])
        distances = []
        for name in dict.fromkeys(sequence[probes].tolist()):
            others = references[own != name]
            if len(others):
                distances.append(_mean_distance(features[probes[sequence[probes] == name]], others, neighbours))
        if not distances:  # one sequence only: leave out nothing but the frame itself
            distances.append(_mean_distance(references, references, neighbours + 1) * (neighbours + 1) / neighbours)
        pooled = np.concatenate(distances)
        mu, sigma = float(pooled.mean()), float(pooled.std())
        return cls(references, neighbours, mu, spread_floor(mu, sigma))

    def distance(self, features: np.ndarray) -> np.ndarray:
        """(N, F) -> (N,) mean distance to the nearest references."""
        return _mean_distance(features, self.references, self.neighbours)

    def normalised(self, features: np.ndarray) -> np.ndarray:
        """(N, F) -> (N,) (distance - mu) / (2 sigma), unclipped, like the other anomaly scores."""
        return self.from_distance(self.distance(features))

    def from_distance(self, distance: np.ndarray) -> np.ndarray:
        return (distance - self.mu) / (ALPHA * self.sigma)

    def dac_from_distance(self, distance: np.ndarray) -> np.ndarray:
        """DAC's own normalisation: distance / (mu + 2 sigma), unclipped."""
        return distance / (self.mu + ALPHA * self.sigma)

    def to_json(self) -> dict[str, Any]:
        return {
            "references_float16_base64": base64.b64encode(self.references.astype("<f2").tobytes()).decode(),
            "shape": list(self.references.shape),
            "neighbours": self.neighbours,
            "mu": self.mu,
            "sigma": self.sigma,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "FeatureDensity":
        raw = np.frombuffer(base64.b64decode(stored["references_float16_base64"]), dtype="<f2")
        references = raw.reshape(stored["shape"]).astype(np.float32)
        return cls(references, int(stored["neighbours"]), float(stored["mu"]), float(stored["sigma"]))


def _rounded(features: np.ndarray) -> np.ndarray:
    return np.clip(features, -_FLOAT16_MAX, _FLOAT16_MAX).astype(np.float16).astype(np.float32)


def _mean_distance(features: np.ndarray, references: np.ndarray, neighbours: int) -> np.ndarray:
    """(N, F), (R, F) -> (N,). Chunked, so that the N x R distances never stand in memory at once."""
    features = np.atleast_2d(np.asarray(features, dtype=np.float32))
    neighbours = min(neighbours, len(references))
    squared_references = (references * references).sum(axis=1)
    result = np.empty(len(features))
    for start in range(0, len(features), _CHUNK):
        part = features[start : start + _CHUNK]
        squared = (part * part).sum(axis=1)[:, None] + squared_references - 2.0 * (part @ references.T)
        nearest = np.partition(squared, neighbours - 1, axis=1)[:, :neighbours]
        result[start : start + _CHUNK] = np.sqrt(np.maximum(nearest, 0.0)).mean(axis=1)
    return result
