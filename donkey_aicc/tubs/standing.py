"""Frames in which the car does not drive: its picture stands still. Good for nothing in training, and easy to find."""

from collections.abc import Sequence as Listing

import numpy as np

from donkey_aicc.tubs.apart import coarse_squares
from donkey_aicc.tubs.drive import Drive

STILL_S = 1.0  # a shorter halt is part of driving
STILL_CHANGE = 1.5  # levels of 255 from a frame to the next, over 16x16 squares: more is motion, less is noise of the camera
STILL_SHARE = 0.25  # of the tub's usual change: a slow car on a plain floor is not a parked one


def standing_frames(drives: Listing[Drive]) -> list[np.ndarray]:
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
    squares = coarse_squares([drive])
    return np.abs(np.diff(squares, axis=0)).mean(axis=1)


def _long_runs(still: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """(N,) bool of the frames between which nothing moves for STILL_S; still: (N - 1,)."""
    frames = np.zeros(len(times_s), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(np.int8))).reshape(-1, 2)
    for start, stop in edges:  # frames start..stop, both ends included
        if times_s[stop] - times_s[start] >= STILL_S:
            frames[start : stop + 1] = True
    return frames
