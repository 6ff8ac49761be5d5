"""Nominal driving cut into pieces of a lap's length: what a promise is counted in, however it was recorded or cut by hand."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.stored import flag, number, whole

PIECE_S = 15.0  # where no lap is known: about a lap of an indoor track
PIECE_FRAMES = 300  # of that length at 20 Hz


@dataclass(frozen=True)
class Piece:
    """How long a piece is. lap: the picture told that a lap is so long; else it is only a usual length."""

    frames: int = PIECE_FRAMES
    seconds: float = PIECE_S
    lap: bool = False

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Piece":
        frames = whole("the frames of an alarm's piece", stored["frames"], 1, 1_000_000)
        seconds = number("the seconds of an alarm's piece", stored["seconds"], 0.1, 3600.0)
        return cls(frames, seconds, flag("the lap of an alarm's piece", stored["lap"]))

    @property
    def rate_hz(self) -> float:
        """Of the loop that drove it."""
        return self.frames / self.seconds

    def __str__(self) -> str:
        return f"{'laps' if self.lap else 'pieces'} of {self.seconds:.3g} s"


def piece_numbers(table: ScoreTable, frames: int) -> np.ndarray:
    """(N,) number of the piece that each row belongs to.

    A drive is cut into equal pieces as near to `frames` as can be. Drives shorter than half of that fill pieces together: twelve
    scraps are no twelve laps. What is left over at the end, if less than half a piece, belongs to the piece before.
    """
    numbers = np.zeros(len(table), dtype=np.int64)
    following, open_piece, filled = 0, -1, 0
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        if 2 * len(own) >= frames:
            count = max(1, round(len(own) / frames))
            numbers[own] = following + np.arange(len(own)) * count // len(own)
            following += count
            continue
        if open_piece < 0:
            open_piece, filled = following, 0
            following += 1
        numbers[own] = open_piece
        filled += len(own)
        if filled >= frames:
            open_piece = -1
    if open_piece >= 0 and 2 * filled < frames and following > 1:
        numbers[numbers == open_piece] = open_piece - 1 if open_piece > 0 else 1
    return np.unique(numbers, return_inverse=True)[1]


def independent_pieces(values: np.ndarray) -> float:
    """How many independent pieces these (n,) are worth: neighbours of one recording resemble each other.

    n (1 - r) / (1 + r) with r the correlation of neighbours, as for an autoregressive series; never above n.
    """
    count = len(values)
    if count < 4 or np.ptp(values) <= 0.0:
        return float(count)
    logs = np.log(np.maximum(values, 1e-6))
    away = logs - logs.mean()
    r = float(np.clip((away[1:] * away[:-1]).sum() / (away**2).sum(), 0.0, 0.9))
    return max(1.0, count * (1.0 - r) / (1.0 + r))
