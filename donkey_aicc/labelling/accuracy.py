"""How right the quick classifier is, measured on answers of blocks of time that it was not fitted on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.labelling.answers import GIVEN, SPREAD
from donkey_aicc.labelling.classifier import QuickClassifier

FOLDS = 8
SHORTEST_BLOCK_S, LONGEST_BLOCK_S = 5.0, 60.0
FEWEST_MEASURED = 10  # answers above a certainty before their agreement says anything
WANTED = 0.95  # agreement on what is labelled
Z = 1.96  # 95 %


@dataclass(frozen=True)
class Agreement:
    """Of `answers` frames that it had not seen and would have labelled, `right` agree with the person."""

    answers: int
    right: int
    low: float  # 95 % interval
    high: float
    asked: int  # answers from which these were taken; the others it would have left without a label
    spread: bool  # measured on frames spread over the drive; otherwise on those it chose, which are harder

    @property
    def share(self) -> float:
        return self.right / max(self.answers, 1)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "share": self.share}

    def to_text(self) -> str:
        where = "spread over the drive" if self.spread else "of all kinds, more hard ones than the drive has"
        return (
            f"{100 * self.share:.1f} % right ({100 * self.low:.1f} to {100 * self.high:.1f} %), measured on {self.answers} "
            f"answers in blocks of time that it had not seen; it would have left {self.asked - self.answers} of {self.asked} "
            f"answers ({where}) without a label"
        )


def unseen_probabilities(features: np.ndarray, classes: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    """(n, C): each answered frame judged by a classifier fitted without its fold of blocks; NaN where that is impossible.

    It is also impossible where no other fold has an answer of that class: the one time that the car was carried, say.
    """
    folds = blocks % FOLDS
    found = np.full((len(classes), count), np.nan)
    for fold in np.unique(folds):
        rest = folds != fold
        if len(np.unique(classes[rest])) >= 2:
            judged = ~rest & np.isin(classes, classes[rest])
            found[judged] = QuickClassifier(features[rest], classes[rest], count).probabilities(features[judged])
    return found


def blocks_of(seconds: np.ndarray, total_s: float) -> np.ndarray:
    """(n,) int: number of the block of time in which each answer lies; blocks that follow each other go to different folds."""
    length = float(np.clip(total_s / (5 * FOLDS), SHORTEST_BLOCK_S, LONGEST_BLOCK_S))
    return np.asarray(seconds // length, dtype=np.int64)


def measured_on(why: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, bool]:
    """(n,) bool: the answers that stand for the whole drive, and True; all known ones and False if those are too few."""
    fair = np.isin(why, [SPREAD, GIVEN]) & known
    return (fair, True) if fair.sum() >= FEWEST_MEASURED else (known, False)


def agreement(right: np.ndarray, labelled: np.ndarray, blocks: np.ndarray, spread: bool) -> Agreement:
    """right, labelled: (n,) bool of the answers that are measured on; blocks: (n,)."""
    hits, inside = right[labelled], blocks[labelled]
    low, high = wilson(hits, inside)
    return Agreement(int(labelled.sum()), int(hits.sum()), low, high, len(right), spread)


def wilson(hits: np.ndarray, blocks: np.ndarray) -> tuple[float, float]:
    """95 % interval of a share whose single observations go together in blocks."""
    if not len(hits):
        return 0.0, 1.0
    share = float(hits.mean())
    sums = np.bincount(np.unique(blocks, return_inverse=True)[1], weights=hits - share)
    plain = len(hits) * share * (1 - share)
    together = float(np.square(sums).sum()) / plain if plain > 0 and len(sums) > 1 else 1.0
    n = len(hits) / max(together, 1.0)
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)


def enough_certainty(asked: float, certainty: np.ndarray, right: np.ndarray) -> float | None:
    """The asked certainty, or the next higher one above which unseen answers agree well enough; None: there is none."""
    for limit in sorted({asked, *certainty[certainty > asked].tolist()}):
        above = certainty >= limit
        if above.sum() < FEWEST_MEASURED:
            return None
        if right[above].mean() >= WANTED:
            return float(limit)
    return None
