"""The picture tells when a lap is round: drives cut into whole laps, so that every side of a split has seen every place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from donkey_aicc.tubs.drive import Drive

SHORTEST_S, LONGEST_S = 4.0, 90.0  # of a lap
CELLS = 16  # of the grey picture along each side
PROBES = 300  # frames of a drive that are looked for again
RISE = 2.5  # times the usual wobble of the likeness: less is no lap, only similar corners
BASELINE = 150  # lags to each side
NEARLY = 0.75  # of the best lag's rise: the first such lag is one lap, the best may be two
EARLIEST, LATEST = 0.75, 1.3  # of a usual lap: where the next is round
AROUND = 3  # frames before and after, seen together: one frame alone may be hidden by a passer-by


@dataclass(frozen=True)
class Lap:
    """A usual lap of these drives."""

    frames: int
    seconds: float


def find_lap(drives: Sequence[Drive]) -> Lap | None:
    """None: no lag at which the pictures come back, as on a road that never returns or in drives shorter than two laps."""
    steps = [np.diff(drive.times_s) for drive in drives if len(drive) > 1]
    frame_s = float(np.median(np.concatenate(steps))) if steps else 0.0
    if not frame_s > 0.0:
        return None
    lags = np.arange(round(SHORTEST_S / frame_s), round(LONGEST_S / frame_s) + 1)
    total, count = np.zeros(len(lags)), np.zeros(len(lags))
    for drive in drives:
        seen = lags[lags < len(drive)]
        if len(seen) < 2:
            continue
        cells = _cells(drive)
        for row in np.linspace(0, len(drive) - seen[0] - 1, PROBES).astype(int):
            own = seen[row + seen < len(drive)]
            total[: len(own)] += cells[row + own] @ cells[row]
            count[: len(own)] += 1
    known = count >= 0.2 * count.max(initial=1.0)
    if known.sum() < 10:
        return None
    likeness = np.convolve(total[known] / count[known], np.ones(7) / 7, "same")
    if len(likeness) > 2 * BASELINE:  # the likeness falls slowly with time, laps rise above that
        likeness = likeness - _running_median(likeness, BASELINE)
    away = likeness - np.median(likeness)
    wobble = 1.4826 * np.median(np.abs(away)) + 1e-3
    peaks = [
        place
        for place in range(3, len(away) - 3)
        if away[place] == away[max(0, place - 20) : place + 21].max() and away[place] > RISE * wobble
    ]
    if not peaks:
        return None
    highest = max(away[place] for place in peaks)
    first = next(place for place in peaks if away[place] >= NEARLY * highest)
    frames = int(lags[known][first])
    return Lap(frames, frames * frame_s)


def _running_median(values: np.ndarray, reach: int) -> np.ndarray:
    """Of each value with `reach` neighbours on both sides; the first and last value go on beyond the ends."""
    around = np.lib.stride_tricks.sliding_window_view(np.pad(values, reach, mode="edge"), 2 * reach + 1)
    return np.median(around, axis=-1)


def lap_starts(drive: Drive, frames: int) -> list[int]:
    """Rows at which the drive is where it began, the first included; what is left over at the end starts no lap."""
    cells, starts = _cells(drive), [0]
    place = cells[: 2 * AROUND + 1].mean(axis=0)
    while (last := starts[-1] + round(LATEST * frames)) + 2 * AROUND < len(cells):
        first = starts[-1] + round(EARLIEST * frames)
        likeness = np.convolve(cells[first : last + 2 * AROUND] @ place, np.ones(2 * AROUND + 1), "valid")
        starts.append(first + int(likeness.argmax()))
    return starts


def _cells(drive: Drive) -> np.ndarray:
    """(N, CELLS^2) float32: the grey picture in cells, without its mean light and contrast."""
    images = np.asarray(drive.images)
    size = images.shape[1] // CELLS
    grey = (
        images.reshape(len(images), CELLS, size, CELLS, size, 3).mean(axis=(2, 4, 5), dtype=np.float32).reshape(len(images), -1)
    )
    grey -= grey.mean(axis=1, keepdims=True)
    return grey / (np.linalg.norm(grey, axis=1, keepdims=True) + 1e-6)
