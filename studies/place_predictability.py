"""How much of the future the place on the track alone decides: the ceiling under which any predictor stays honest.

If nominal driving errs at random, no picture can tell whether the car will be safe 50 steps ahead, and every calibrator
looks alike. If it errs at the same places in every lap, the picture can.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import auroc


@dataclass(frozen=True, eq=False)
class PlacedDrive:
    """Where a drive was: s_m (N,) metres along the track and cte_m (N,), one entry per tick, without a put-back inside."""

    s_m: np.ndarray
    cte_m: np.ndarray


def median_tau(drives: Sequence[PlacedDrive]) -> float:
    """The tau that makes half of the frames safe."""
    return float(np.median(np.abs(np.concatenate([drive.cte_m for drive in drives]))))


def place_auroc(drives: Sequence[PlacedDrive], tau: float, horizon: int = 50, bin_m: float = 0.1) -> float:
    """AUROC of "share of safe futures seen at this place in the other drives" for |cte| <= tau, `horizon` steps ahead.

    Each drive is judged only by the others, so that a drive cannot vouch for itself.
    """
    if len(drives) < 2:
        raise AiccError(f"place_auroc needs at least 2 drives, got {len(drives)}")
    places, safes = [], []
    for drive in drives:
        safes.append((np.abs(drive.cte_m[horizon:]) <= tau).astype(float))
        places.append((drive.s_m[: len(drive.s_m) - horizon] / bin_m).astype(int))
    bins = max(int(place.max(initial=0)) for place in places) + 1
    safe_count = np.array([np.bincount(p, weights=s, minlength=bins) for p, s in zip(places, safes, strict=True)])
    count = np.array([np.bincount(p, minlength=bins) for p in places])
    predictions = []
    for i, place in enumerate(places):
        others_safe, others = safe_count.sum(0) - safe_count[i], count.sum(0) - count[i]
        # An unseen place says nothing: it counts as one half.
        predictions.append(((others_safe + 0.5) / (others + 1.0))[place])
    return float(auroc(np.concatenate(predictions), np.concatenate(safes)))
