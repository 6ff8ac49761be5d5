"""From evidence to hazard: the probability that the car leaves its lane within the next k steps, for every horizon k at once.

P_k = sigmoid(a_k + w . x), a proportional-odds survival model: a_k grows with k and w >= 0, so that the hazard never falls with
k or with any evidence x >= 0. Fitted on departures that happened: nominal calibration drives and drives under D_aug faults.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.evidence import EVIDENCE_NAMES
from donkey_aicc.errors import DAMAGE, AiccError
from donkey_aicc.stored import array, number

LEAST_DEPARTURES = 5  # separate ones; fewer say nothing about the next
RIDGE = 1e-3
LARGEST_LOGIT = 30.0  # beyond it a double knows no difference


@dataclass(frozen=True)
class HazardModel:
    """Plain numbers; `hazard` needs nothing but numpy."""

    horizons: tuple[int, ...]
    offsets: np.ndarray  # (K,) a_k, never falling
    weights: np.ndarray  # (len(EVIDENCE_NAMES),) >= 0

    def logit(self, features: np.ndarray) -> np.ndarray:
        """(L, E) -> (L,): w . x, the same for all horizons; larger is worse."""
        return np.minimum(features @ self.weights, LARGEST_LOGIT)

    def hazard(self, features: np.ndarray) -> np.ndarray:
        """(L, E) -> (L, K) probability of a departure within each horizon."""
        return 1.0 / (1.0 + np.exp(-np.clip(self.offsets + self.logit(features)[:, None], -LARGEST_LOGIT, LARGEST_LOGIT)))

    def check(self) -> None:
        """Refuse a model that would turn the meaning round."""
        if not (np.isfinite(self.offsets).all() and np.isfinite(self.weights).all()):
            raise AiccError("the hazard's numbers must be finite")
        if (np.diff(self.offsets) < 0.0).any():
            raise AiccError("the hazard must not fall with the horizon")
        if (self.weights < 0.0).any():
            name = EVIDENCE_NAMES[int(self.weights.argmin())]
            raise AiccError(f"the hazard must not fall as {name} rises, got the weight {self.weights.min():.3g}")

    def to_json(self) -> dict[str, Any]:
        return {
            "horizons": list(self.horizons),
            "offsets": self.offsets.tolist(),
            "weights": dict(zip(EVIDENCE_NAMES, self.weights.tolist(), strict=True)),
        }

    @classmethod
    def from_json(cls, stored: Any) -> "HazardModel":
        try:
            offsets = array("the hazard's offsets", stored["offsets"], -LARGEST_LOGIT, LARGEST_LOGIT)
            given = {"own": 0.0} | stored["weights"]
            weights = [number(f"the hazard's weight of {name}", given[name], 0.0, LARGEST_LOGIT) for name in EVIDENCE_NAMES]
            model = cls(tuple(stored["horizons"]), offsets, np.array(weights))
        except DAMAGE as error:
            raise AiccError(f"the hazard is damaged or of another version: {error!r}") from error
        if model.offsets.shape != (len(model.horizons),):
            raise AiccError(f"the hazard has {len(model.horizons)} horizons and offsets of shape {model.offsets.shape}")
        model.check()
        return model


def fit_hazard(features: np.ndarray, labels: np.ndarray, horizons: tuple[int, ...]) -> HazardModel:
    """features: (N, E); labels: (N, K) 1 a departure within k, 0 none, NaN unknown. Least mean NLL with a little ridge."""
    from scipy.optimize import minimize

    count, width = labels.shape[1], features.shape[1]
    known = np.isfinite(labels)
    y, total = np.nan_to_num(labels), max(int(known.sum()), 1)
    rate = np.clip([labels[known[:, k], k].mean() if known[:, k].any() else 0.0 for k in range(count)], 1e-4, 1 - 1e-4)
    first = np.maximum.accumulate(np.log(rate / (1 - rate)))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        offsets, weights = np.cumsum(theta[:count]), theta[count:]
        logits = offsets + (features @ weights)[:, None]
        nll = np.where(known, np.logaddexp(0.0, logits) - y * logits, 0.0).sum() / total
        slope = np.where(known, 1.0 / (1.0 + np.exp(-np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT))) - y, 0.0) / total
        by_offset = np.cumsum(slope.sum(axis=0)[::-1])[::-1]
        by_weight = features.T @ slope.sum(axis=1) + 2 * RIDGE * weights
        return float(nll + RIDGE * weights @ weights), np.concatenate([by_offset, by_weight])

    start = np.concatenate([[first[0]], np.diff(first), np.full(width, 0.1)])
    bounds = [(-LARGEST_LOGIT, LARGEST_LOGIT)] + [(0.0, LARGEST_LOGIT)] * (count - 1 + width)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    model = HazardModel(tuple(horizons), np.cumsum(found[:count]), found[count:])
    model.check()
    return model
