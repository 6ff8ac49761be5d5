"""How far a frame is from the nearest calibration frames, in the safety predictor's features."""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.nominal_distance import ALPHA, check_scale, spread_floor

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

    def check_nominal(self, name: str, features: np.ndarray) -> None:
        """features: (n, F) of nominal rows."""
        if self.neighbours != NEIGHBOURS or self.references.ndim != 2 or not 0 < len(self.references) <= MAX_REFERENCES:
            raise AiccError(f"{name} needs {NEIGHBOURS} neighbours and a table of 1 to {MAX_REFERENCES} references")
        if self.references.shape[1] != features.shape[1] or not np.isfinite(self.references).all():
            raise AiccError(f"{name}: references must be finite features like those of the nominal rows beside it")
        check_scale(name, self.mu, self.sigma, self.distance(features))


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
