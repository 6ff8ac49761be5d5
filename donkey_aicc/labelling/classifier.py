"""The quick classifier: fitted on the answered frames, judged on them, and what it should be told next.

Kernel logistic regression, refitted every few answers. Far from every answered frame the kernel vanishes and only the classes'
shares are left: such a frame is not sure. How right it is, is measured on answers of blocks of time that it was not fitted on.
The next question is first spread over the drive, then where the classifier is unsure or neighbours disagree. Every third stays
spread over the drive: on those the accuracy is measured, and they find what nobody thought of.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.labelling.answers import GIVEN, NEIGHBOURS, SPREAD, UNSURE
from donkey_aicc.labelling.footage import Footage

REACH = 0.7  # width of the kernel, in typical distances between two frames
STRENGTH = 100.0  # how far single answers are followed
MOST_ANCHORS = 600  # answered frames that span the kernel
ROWS = 4096


class QuickClassifier:
    """Probabilities of classes 0..C-1 for rows of features."""

    def __init__(self, features: np.ndarray, classes: np.ndarray, count: int) -> None:
        """features: (n, D) of the answered frames; classes: (n,) int, two of them at least; count: C."""
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        width, anchors = REACH * typical_distance(features), min(len(features), MOST_ANCHORS)
        kernel = Nystroem(gamma=0.5 / width**2, n_components=anchors, random_state=0)
        self._count = count
        self._fitted: Any = make_pipeline(kernel, LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3))
        self._fitted.fit(np.asarray(features, dtype=np.float64), classes)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """(N, C) float64."""
        found = np.zeros((len(features), self._count))
        for at in range(0, len(features), ROWS):
            rows = np.asarray(features[at : at + ROWS], dtype=np.float64)
            found[at : at + ROWS, self._fitted.classes_] = self._fitted.predict_proba(rows)
        return found


def typical_distance(features: np.ndarray) -> float:
    """Root mean square distance between two rows."""
    return max(float(np.sqrt(2.0 * np.var(np.asarray(features, dtype=np.float64), axis=0).sum())), 1e-9)


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


SPREAD_FIRST = 40
TURNS = (UNSURE, NEIGHBOURS, SPREAD)
APART_S = (1.0, 0.25)  # between two frames that are asked for; the second when the first leaves none
AROUND_S = 0.5  # neighbours
GOLDEN = (5**0.5 - 1) / 2  # steps of this share of the drive never bunch


class Questions:
    """Deterministic: the same answers lead to the same next question."""

    def __init__(self, footage: Footage) -> None:
        self._footage = footage
        self._moving = np.flatnonzero(footage.still == 0)
        if not len(self._moving):  # nothing but a parked car; let the person see it
            self._moving = np.arange(len(footage))

    def next(self, asked: Iterable[int], probabilities: np.ndarray | None, count: int) -> list[tuple[int, str]]:
        """The next `count` positions and why each is asked; fewer if no frame is left that is far enough from the others."""
        done = list(asked)
        apart_s, free = self._free(done)
        found: list[tuple[int, str]] = []
        for number in range(len(done), len(done) + count):
            if not free.any():
                break
            why = SPREAD if number < SPREAD_FIRST or probabilities is None else TURNS[number % len(TURNS)]
            position = self._spread(free) if why == SPREAD or probabilities is None else self._best(why, probabilities, free)
            free[self._footage.near(position, apart_s)] = False
            found.append((position, why))
        return found

    def _free(self, done: list[int]) -> tuple[float, np.ndarray]:
        """(N,) bool: far enough from all that was asked; in a short tub that comes to mean less."""
        for apart_s in APART_S:
            free = np.zeros(len(self._footage), dtype=bool)
            free[self._moving] = True
            for position in done:
                free[self._footage.near(position, apart_s)] = False
            if free.any():
                break
        return apart_s, free

    def _spread(self, free: np.ndarray) -> int:
        for step in range(len(self._moving)):
            position = int(self._moving[int((0.5 + step * GOLDEN) % 1.0 * len(self._moving))])
            if free[position]:
                return position
        return int(np.flatnonzero(free)[0])

    def _best(self, why: str, probabilities: np.ndarray, free: np.ndarray) -> int:
        if why == UNSURE:
            ordered = np.sort(probabilities, axis=1)
            score = 1.0 - (ordered[:, -1] - ordered[:, -2])
        else:
            score = np.abs(probabilities - self._around(probabilities)).max(axis=1)
        return int(np.argmax(np.where(free, score, -1.0)))

    def _around(self, probabilities: np.ndarray) -> np.ndarray:
        """(N, C): mean over the frames of the same drive within AROUND_S."""
        found = np.empty_like(probabilities)
        for start, stop in zip(self._footage.starts[:-1], self._footage.starts[1:], strict=True):
            times = self._footage.times_s[start:stop]
            sums = np.concatenate([np.zeros((1, probabilities.shape[1])), np.cumsum(probabilities[start:stop], axis=0)])
            first = np.searchsorted(times, times - AROUND_S, side="left")
            last = np.searchsorted(times, times + AROUND_S, side="right")
            found[start:stop] = (sums[last] - sums[first]) / (last - first)[:, None]
        return found
