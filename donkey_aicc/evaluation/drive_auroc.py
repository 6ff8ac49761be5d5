"""AUROC between drives, and its draws when whole drives are drawn anew: only one small matrix per score is counted."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DriveWins:
    """wins[i, j]: pairs in which a frame of odd drive i scores above one of nominal drive j (ties half); pairs[i, j]: all."""

    wins: np.ndarray
    pairs: np.ndarray

    @classmethod
    def count(
        cls,
        positive: np.ndarray,
        positive_drive: np.ndarray,
        negative: np.ndarray,
        negative_drive: np.ndarray,
        shape: tuple[int, int],
    ) -> "DriveWins":
        """Scores (N,) and drive numbers (N,) of both classes; shape: number of odd and of nominal drives."""
        wins, pairs = np.zeros(shape), np.zeros(shape)
        frames = np.bincount(positive_drive, minlength=shape[0]).astype(np.float64)
        for number in range(shape[1]):
            below = np.sort(negative[negative_drive == number])
            won = (np.searchsorted(below, positive, "left") + np.searchsorted(below, positive, "right")) / 2.0
            wins[:, number] = np.bincount(positive_drive, weights=won, minlength=shape[0])
            pairs[:, number] = frames * len(below)
        return cls(wins, pairs)

    def auroc(self) -> float:
        """Over all frames; NaN without pairs."""
        return float(self.wins.sum() / self.pairs.sum()) if self.pairs.sum() else float("nan")


@dataclass(frozen=True)
class DriveDraws:
    """How often each drive is drawn, (draws, drives); the same draws for every score, so that differences are paired."""

    positive: np.ndarray
    negative: np.ndarray

    @classmethod
    def make(cls, positives: int, negatives: int, draws: int, seed: int) -> "DriveDraws":
        rng = np.random.default_rng(seed)
        drawn = [rng.multinomial(n, np.full(n, 1.0 / n), size=draws).astype(np.float64) for n in (positives, negatives)]
        return cls(*drawn)

    def auroc(self, counted: DriveWins) -> np.ndarray:
        """(draws,): NaN where no drawn drive has a frame."""
        wins = np.einsum("di,ij,dj->d", self.positive, counted.wins, self.negative)
        pairs = np.einsum("di,ij,dj->d", self.positive, counted.pairs, self.negative)
        return np.divide(wins, pairs, out=np.full(len(wins), np.nan), where=pairs > 0)
