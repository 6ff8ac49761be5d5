"""Departure: the car has left its lane. A notion of its own beside the paper's `safe`, which half of nominal driving is not.

What counts: |cte| beyond the lane's half width, a frame that a person marked, the last frame before a person took over, or a
frame labelled as off the track. Alarm, hazard and governor know only this notion.
"""

import math

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.tubs.drive import Drive
from donkey_aicc.tubs.labels import is_pilot_mode


def check_half_width(half_width: float | None) -> None:
    """The rule for --lane-half-width, in the unit of the recorded cte."""
    if half_width is not None and not (math.isfinite(half_width) and half_width > 0):
        raise ConfigError(f"the lane's half width must be a number > 0 in the unit of the recorded cte, got {half_width}")


def departed_frames(
    drive: Drive, marks: np.ndarray, *, half_width: float | None, centre: float = 0.0, off_track: bool = False
) -> np.ndarray:
    """(N,) float32: 1 out of the lane, 0 in it, NaN where nothing tells.

    marks: (N,) 1 marked, 0 not, NaN not recorded. off_track: `drive.safe` comes from pictures or a file and means the lane.
    """
    said = []
    if half_width is not None:
        distance = np.abs(drive.cte.astype(np.float32) - np.float32(centre))
        said.append(np.where(np.isfinite(distance), distance > np.float32(half_width), np.nan))
    if off_track:
        said.append(1.0 - drive.safe)
    said += [marks, _takeovers(drive.mode)]
    votes = np.stack([np.asarray(each, dtype=np.float32) for each in said])
    known = np.isfinite(votes).any(axis=0)
    return np.where(known, np.nan_to_num(votes).max(axis=0), np.nan).astype(np.float32)


def _takeovers(mode: np.ndarray) -> np.ndarray:
    """1 at the pilot's last frame before a person takes over; 0 at its other frames, but only in a drive with a takeover.

    A drive in which nobody ever took over may have had nobody watching.
    """
    piloted = is_pilot_mode(mode)
    last = np.flatnonzero(piloted[:-1] & (mode[1:] == "user"))
    said = np.where(piloted & bool(len(last)), 0.0, np.nan)
    said[last] = 1.0
    return said


def departure_within(departed: np.ndarray, horizons: tuple[int, ...]) -> np.ndarray:
    """(N, K) float32 of one drive: 1 if a departure begins in the next k frames, 0 if not, NaN unknown.

    A frame that is out of the lane already has no label: what it asks about has happened. One before the end of the drive
    has the label 1 if the departure is seen, and 0 only if all k frames are.
    """
    out = np.asarray(departed, dtype=np.float64)
    count = len(out)
    following = np.full(count, math.inf)  # frames until the next departure
    unknown = np.full(count, math.inf)  # frames until the next one of which nothing is known
    next_out = next_unknown = math.inf
    for row in range(count - 1, -1, -1):
        following[row], unknown[row] = next_out - row, min(next_unknown, count) - row
        next_out = row if out[row] == 1.0 else next_out
        next_unknown = row if math.isnan(out[row]) else next_unknown
    labels = np.full((count, len(horizons)), np.nan, dtype=np.float32)
    for column, k in enumerate(horizons):
        soon = following <= k
        labels[soon, column] = 1.0
        labels[~soon & (unknown > k), column] = 0.0
    labels[~(out == 0.0)] = np.nan
    return labels
