"""Which frame to ask for next: first spread over the drive, then where the classifier is unsure or neighbours disagree.

Every third question stays spread over the drive: on those the accuracy is measured, and they find what nobody thought of.
"""

from collections.abc import Iterable

import numpy as np

from donkey_aicc.labelling.answers import NEIGHBOURS, SPREAD, UNSURE
from donkey_aicc.labelling.footage import Footage

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
