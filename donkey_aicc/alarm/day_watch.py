"""Is today still like the days of the calibration? A bet against it, lap by lap: a conformal test martingale.

The alarm judges moments. A lens that fogs over or a dusty floor may stay below its thresholds all day. So each stretch of driving
(a lap, or as many neighbours as are worth one) gets one number, the median of the alarm's score, and its rank among those of
the calibration drives and of today so far. While today is like those days, all ranks are equally likely. A player with one
coin who bets on high ranks then never owns a hundred coins with a chance above 1 in 100, however long the drive (Ville's
inequality): the promise holds at all times, not only at the end. Every drive starts with one coin again.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.alarm.pieces import Piece, independent_pieces, piece_numbers
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.stored import array, whole

PROMISE = 100.0  # coins: a drive like those of the calibration gets there with a chance of at most one in so many
EXPONENTS = np.arange(1, 10) / 10.0  # of the bets e p^(e-1), with an equal share of the coin each
LEAST_STRETCHES = 12  # of the calibration: the bets of fewer could hardly win
MOST_STRETCHES = 1000


@dataclass(frozen=True)
class UsualDays:
    """Of the calibration: how long a stretch is, and the level of each."""

    frames: int
    levels: tuple[float, ...]

    @classmethod
    def measure(cls, table: ScoreTable, score: np.ndarray, frames: int) -> "UsualDays | None":
        """score: (N,) of the alarm on nominal rows that it was not fitted on; frames: of a piece. None: too little driving."""
        found = _levels(table, score, frames)
        neighbours = max(1, round(len(found) / independent_pieces(found)))
        frames *= neighbours
        levels = found if neighbours == 1 else _levels(table, score, frames)
        return None if len(levels) < LEAST_STRETCHES else cls(frames, tuple(np.round(levels, 4).tolist()[-MOST_STRETCHES:]))

    def promise(self, piece: Piece) -> str:
        """For the person at `calibrate`."""
        stretch = f"{self.frames / piece.frames * piece.seconds:.3g} s"
        return f"day: cries in at most 1 of {PROMISE:.0f} drives like these {len(self.levels)} stretches of {stretch}"

    def to_json(self) -> dict[str, Any]:
        return {"frames": self.frames, "levels": list(self.levels)}

    @classmethod
    def from_json(cls, stored: Any) -> "UsualDays":
        levels = array("the levels of usual days", stored["levels"], 0.0, 1000.0)
        whole("the number of levels of usual days", len(levels), LEAST_STRETCHES, MOST_STRETCHES)
        return cls(whole("the frames of a stretch of usual days", stored["frames"], 1, 10_000_000), tuple(levels.tolist()))


def _levels(table: ScoreTable, score: np.ndarray, frames: int) -> np.ndarray:
    numbers = piece_numbers(table, frames)
    return np.array([np.median(score[numbers == number]) for number in range(int(numbers.max(initial=-1)) + 1)])


class DayWatch:
    """One drive: the alarm's score of every frame in, the player's coins out."""

    def __init__(self, usual: UsualDays) -> None:
        self._frames, self._levels = usual.frames, sorted(usual.levels)
        self._stretch: list[float] = []
        self._bets = np.zeros(len(EXPONENTS))  # logarithm of what each has made of its share
        self.unlike = False  # a hundred coins were reached: that stays

    @property
    def coins(self) -> float:
        return float(np.exp(np.minimum(self._bets, 700.0)).mean())

    def step(self, score: float) -> None:
        """The next frame in which the alarm had signs."""
        self._stretch.append(score)
        if len(self._stretch) == self._frames:
            self.bet(float(np.median(self._stretch)))
            self._stretch = []

    def bet(self, level: float) -> None:
        """The next stretch. Equal levels count as stranger than this one: that can only make the player poorer."""
        above = len(self._levels) - bisect_left(self._levels, level)
        p = (above + 1.0) / (len(self._levels) + 1.0)
        insort(self._levels, level)
        self._bets += np.log(EXPONENTS) + (EXPONENTS - 1.0) * np.log(p)
        self.unlike = self.unlike or self.coins >= PROMISE

    def statement(self) -> str:
        """For a person; '' while there is nothing to say."""
        return "today is not like the days of the calibration" if self.unlike else ""
