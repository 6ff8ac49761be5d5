"""Pictures that are nearly the same: on two sides of a split, or of a car that stands.

The sides of a split are kept apart: a guard in time within a session, and no near-duplicate picture on two sides. What stands
in the way is left out of the side that can spare it: the sides are given in order of precedence, and a frame too close to a
frame of an earlier side goes. Frames in which the car stands are good for nothing in training, and easy to find.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.nets.preprocess import IMAGE_SIZE
from donkey_aicc.tubs.drive import Drive

# Root mean square difference of two frames seen as 16x16 squares, in levels of 255. Two looks at one place from a standing car
# differ by less, two laps through the same place by more (1.5 and up on simulated and real tracks).
NEAR_DUPLICATE = 0.9
_SQUARES = 16
_ROWS = 512


@dataclass(frozen=True)
class Dropped:
    """Frames that a split had to leave out."""

    guard: int = 0
    duplicates: int = 0

    def __add__(self, other: "Dropped") -> "Dropped":
        return Dropped(self.guard + other.guard, self.duplicates + other.duplicates)


def keep_apart(sides: Sequence[Sequence[Drive]], guard_s: float) -> tuple[list[list[Drive]], Dropped]:
    """The sides without the frames that are too close to a frame of an earlier side; drives are cut where frames go.

    guard_s: seconds that must lie between two sides of one session.
    """
    kept: list[list[Drive]] = []
    dropped = Dropped()
    for side in sides:
        before = [drive for earlier in kept for drive in earlier]
        times = _times_by_session(before)
        pictures = _Pictures(before)
        rest: list[Drive] = []
        for drive in side:
            close = _within(drive.times_s, times.get(drive.session_key), guard_s)
            alike = ~close & pictures.seen(drive)
            dropped += Dropped(int(close.sum()), int(alike.sum()))
            rest += runs_of(drive, ~(close | alike))
        kept.append(rest)
    return kept, dropped


def runs_of(drive: Drive, keep: np.ndarray) -> list[Drive]:
    """The stretches of a drive whose frames are kept, each a drive of its own; the drive itself if that is all of it."""
    if keep.all():
        return [drive]
    return [drive.part(start, stop) for start, stop in stretches(keep)]


def stretches(on: np.ndarray) -> list[tuple[int, int]]:
    """(start, stop) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _times_by_session(drives: Sequence[Drive]) -> dict[tuple[str, str], np.ndarray]:
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for drive in drives:
        found.setdefault(drive.session_key, []).append(drive.times_s)
    return {session: np.sort(np.concatenate(times)) for session, times in found.items()}


def _within(times_s: np.ndarray, others: np.ndarray | None, guard_s: float) -> np.ndarray:
    """(N,) bool: another time lies closer than the guard."""
    if others is None or not len(others):
        return np.zeros(len(times_s), dtype=bool)
    right = np.searchsorted(others, times_s)
    ahead = others[np.minimum(right, len(others) - 1)] - times_s
    behind = times_s - others[np.maximum(right - 1, 0)]
    return np.minimum(np.abs(ahead), np.abs(behind)) < guard_s


def coarse_squares(images: np.ndarray) -> np.ndarray:
    """(N, 64, 64, 3) uint8 -> (N, 768) float32: means over 4x4 pixels, around zero so that products stay exact enough."""
    size = IMAGE_SIZE // _SQUARES
    split = np.asarray(images).reshape(len(images), _SQUARES, size, _SQUARES, size, 3)
    return split.mean(axis=(2, 4), dtype=np.float32).reshape(len(images), _SQUARES * _SQUARES * 3) - np.float32(128.0)


class _Pictures:
    """Remembers frames, and finds those of another drive that are alike."""

    def __init__(self, drives: Sequence[Drive]) -> None:
        each = [coarse_squares(drive.images) for drive in drives]
        self._squares = np.concatenate(each) if each else np.empty((0, 768), np.float32)
        self._lengths = np.square(self._squares).sum(axis=1)

    def seen(self, drive: Drive) -> np.ndarray:
        """(N,) bool: some remembered picture is alike."""
        alike = np.zeros(len(drive), dtype=bool)
        pictures = coarse_squares(drive.images)
        for start in range(0, len(pictures) if len(self._squares) else 0, _ROWS):
            rows = pictures[start : start + _ROWS]
            squared = np.square(rows).sum(axis=1) + (self._lengths[:, None] - 2.0 * self._squares @ rows.T).min(axis=0)
            alike[start : start + _ROWS] = squared <= NEAR_DUPLICATE**2 * rows.shape[1]
        return alike


STILL_S = 1.0  # a shorter halt is part of driving
STILL_CHANGE = 1.5  # levels of 255 from a frame to the next, over 16x16 squares: more is motion, less is noise of the camera
STILL_SHARE = 0.25  # of the tub's usual change: a slow car on a plain floor is not a parked one


def standing_frames(drives: Sequence[Drive]) -> list[np.ndarray]:
    """Per drive (N,) bool: the picture hardly changes for at least a second, judged by how much it usually does in this tub."""
    changes = [_changes(drive) for drive in drives]
    moving = np.concatenate(changes) if changes else np.empty(0)
    moving = moving[moving > 0]  # a frame stored twice says nothing about the car
    if not len(moving):
        return [np.zeros(len(drive), dtype=bool) for drive in drives]
    limit = min(STILL_CHANGE, STILL_SHARE * float(np.median(moving)))
    return [_long_runs(change <= limit, drive.times_s) for change, drive in zip(changes, drives, strict=True)]


def _changes(drive: Drive) -> np.ndarray:
    """(N - 1,) mean absolute change from each frame to the next."""
    squares = coarse_squares(drive.images)
    return np.abs(np.diff(squares, axis=0)).mean(axis=1)


def _long_runs(still: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """(N,) bool of the frames between which nothing moves for STILL_S; still: (N - 1,)."""
    frames = np.zeros(len(times_s), dtype=bool)
    for start, stop in stretches(still):  # frames start..stop, both ends included
        if times_s[stop] - times_s[start] >= STILL_S:
            frames[start : stop + 1] = True
    return frames
