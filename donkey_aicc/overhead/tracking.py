"""The car's path from the video: frames -> blobs -> tracklets -> the one chain that is the car.

Tracklets are blobs joined over time into short certain pieces of path; the best chain of them is the car.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.centreline import Centreline
from donkey_aicc.overhead.setup_file import OverheadSetup
from donkey_aicc.overhead.video import Blob, BlobFinder, Video
from donkey_aicc.progress import progress

FASTEST_MPS = 6.0
_HARDEST_MPS2 = 15.0  # acceleration, braking and turning together
_SLACK_M = 0.06  # measuring noise, and a marker that wobbles
_LOST_AFTER_S = 0.3
_SIZE_RATIO = 2.0  # within a tracklet a blob keeps its size: two that touch, or a half hidden one, do not belong to it
_FEWEST = 5  # detections: shorter pieces are noise
_MOVED_M = 0.3  # a car drives at some time, a thing of its colour beside the track does not


class Tracklet:
    """One blob followed without doubt; it predicts where it will be next by its speed (an alpha-beta filter)."""

    def __init__(self, frame: int, time_s: float, blob: Blob) -> None:
        self.frames, self.times_s, self.blobs = [frame], [time_s], [blob]
        self._velocity = np.zeros(2)
        self._area_m2 = blob.area_m2

    def misfit(self, time_s: float, blob: Blob) -> float:
        """Distance from the predicted place over the distance allowed; above 1 the blob is somebody else."""
        ratio = blob.area_m2 / self._area_m2
        if not 1 / _SIZE_RATIO <= ratio <= _SIZE_RATIO:
            return math.inf
        dt = time_s - self.times_s[-1]
        predicted = np.array(self.blobs[-1].xy) + self._velocity * dt
        if len(self.blobs) < 3:
            allowed = _SLACK_M + FASTEST_MPS * dt
        else:
            allowed = _SLACK_M + 0.5 * _HARDEST_MPS2 * dt * dt
        return math.dist(predicted, blob.xy) / allowed

    def add(self, frame: int, time_s: float, blob: Blob) -> None:
        dt = time_s - self.times_s[-1]
        measured = (np.array(blob.xy) - self.blobs[-1].xy) / dt
        self._velocity += (1.0 if len(self.blobs) == 1 else 0.5) * (measured - self._velocity)
        self._area_m2 += 0.1 * (blob.area_m2 - self._area_m2)
        self.frames.append(frame)
        self.times_s.append(time_s)
        self.blobs.append(blob)

    def xy(self) -> np.ndarray:
        """(n, 2) metres."""
        return np.array([blob.xy for blob in self.blobs])

    def areas_m2(self) -> np.ndarray:
        """(n,) square metres."""
        return np.array([blob.area_m2 for blob in self.blobs])


class TrackletBuilder:
    """Feed frames in order; every blob goes to the tracklet that expects it most, or starts a new one."""

    def __init__(self) -> None:
        self._open: list[Tracklet] = []
        self._closed: list[Tracklet] = []

    def add_frame(self, frame: int, time_s: float, blobs: Sequence[Blob]) -> None:
        self._close(time_s)
        pairs = [
            (misfit, t, b)
            for t, tracklet in enumerate(self._open)
            for b, blob in enumerate(blobs)
            if (misfit := tracklet.misfit(time_s, blob)) <= 1.0
        ]
        # Longer tracklets choose first among equals: a newcomer's gate is wide, it must not take an old one's blob.
        pairs.sort(key=lambda pair: (len(self._open[pair[1]].blobs) < _FEWEST, pair[0]))
        tracklets_left, blobs_left = set(range(len(self._open))), set(range(len(blobs)))
        for _, t, b in pairs:
            if t in tracklets_left and b in blobs_left:
                self._open[t].add(frame, time_s, blobs[b])
                tracklets_left.remove(t)
                blobs_left.remove(b)
        self._open += [Tracklet(frame, time_s, blobs[b]) for b in sorted(blobs_left)]

    def finish(self) -> list[Tracklet]:
        """All tracklets long enough to mean something, in order of their start."""
        self._close(math.inf)
        return sorted(self._closed, key=lambda tracklet: tracklet.times_s[0])

    def _close(self, time_s: float) -> None:
        still = [tracklet for tracklet in self._open if time_s - tracklet.times_s[-1] <= _LOST_AFTER_S]
        lost = [tracklet for tracklet in self._open if time_s - tracklet.times_s[-1] > _LOST_AFTER_S]
        self._closed += [tracklet for tracklet in lost if len(tracklet.blobs) >= _FEWEST]
        self._open = still


def best_chain(tracklets: Sequence[Tracklet], centreline: Centreline, marker_size_m: float | None) -> list[Tracklet]:
    """The tracklets that together are most likely the car, in order, none overlapping another in time.

    A chain is worth its detections, each weighted by how car-like its tracklet is; a link costs more the further the car
    would have jumped. Dynamic programming finds the best chain of all.
    """
    if not tracklets:
        return []
    worth = np.array([len(tracklet.blobs) * _likeness(tracklet, centreline, marker_size_m) for tracklet in tracklets])
    starts = np.array([tracklet.times_s[0] for tracklet in tracklets])
    ends = np.array([tracklet.times_s[-1] for tracklet in tracklets])
    first = np.array([tracklet.blobs[0].xy for tracklet in tracklets])
    last = np.array([tracklet.blobs[-1].xy for tracklet in tracklets])
    total, before = worth.copy(), np.full(len(tracklets), -1)
    for i in range(len(tracklets)):
        gap_s = starts[i] - ends
        jump_m = np.hypot(*(first[i] - last).T)
        possible = (gap_s > 0) & (jump_m <= 0.3 + FASTEST_MPS * gap_s)
        if possible.any():
            gain = np.where(possible, total - 2.0 - 3.0 * jump_m, -np.inf)
            best = int(gain.argmax())
            if gain[best] > 0:
                total[i], before[i] = worth[i] + gain[best], best
    chain = [int(total.argmax())]
    while before[chain[-1]] >= 0:
        chain.append(int(before[chain[-1]]))
    return [tracklets[i] for i in reversed(chain)]


def _likeness(tracklet: Tracklet, centreline: Centreline, marker_size_m: float | None) -> float:
    """From 0 to 1: does it move, is it near the track, has it the marker's size."""
    xy = tracklet.xy()
    moved = min(1.0, max(0.03, float(np.hypot(*np.ptp(xy, axis=0))) / _MOVED_M))
    away_m = float(np.median(centreline.distance(xy[:: max(1, len(xy) // 50)])))
    near = 1.0 / (1.0 + max(0.0, away_m - 0.5))
    size = 1.0
    if marker_size_m is not None:
        size = math.exp(-abs(math.log(float(np.median(tracklet.areas_m2())) / marker_size_m**2)))
    return moved * near * size


_AREA_RATIO = 1.5  # against the median of a second: beyond it the marker is half hidden and its middle is elsewhere
_STILL_M = 0.5  # a path that stays in less than this is not a drive


@dataclass(frozen=True, eq=False)
class MarkerPath:
    """F video frames; NaN where the marker was not seen."""

    times_s: np.ndarray  # (F,) from the first frame of the video
    xy: np.ndarray  # (F, 2) metres
    px: np.ndarray  # (F, 2) pixels (column, row)
    area_m2: np.ndarray  # (F,)
    rivals: np.ndarray  # (F,) int: other blobs of the marker's colour and size in the frame

    @property
    def seen(self) -> np.ndarray:
        """(F,) bool."""
        return np.isfinite(self.xy[:, 0])


def track_marker(video: Video, setup: OverheadSetup) -> MarkerPath:
    """Follow the marker through the whole video."""
    if video.info.size_px != setup.size_px:
        given, wanted = ("x".join(map(str, size)) for size in (video.info.size_px, setup.size_px))
        raise AiccError(f"the video {video.path} has {given} pixels, the setup is for {wanted}; calibrate with this video")
    finder, builder = BlobFinder(setup), TrackletBuilder()
    times: list[float] = []
    counts: list[int] = []
    for time_s, frame in progress(video.frames(), "tracking", total=video.info.frames, unit="frame"):
        blobs = finder.find(frame)
        builder.add_frame(len(times), time_s, blobs)
        times.append(time_s)
        counts.append(len(blobs))
    chain = best_chain(builder.finish(), setup.centreline, setup.marker_size_m)
    if not chain:
        raise AiccError(
            f"the marker was never found in the {len(times)} frames of {video.path}: check its colour range (calibrate shows it)"
        )
    unseen = np.full((5, len(times)), np.nan)
    path = MarkerPath(np.array(times), unseen[:2].T, unseen[2:4].T, unseen[4], np.maximum(np.array(counts) - 1, 0))
    for tracklet in chain:
        path.xy[tracklet.frames] = tracklet.xy()
        path.px[tracklet.frames] = [blob.px for blob in tracklet.blobs]
        path.area_m2[tracklet.frames] = tracklet.areas_m2()
    _drop_half_hidden(path, video.info.rate_hz)
    _require_a_drive(path)
    return path


def _drop_half_hidden(path: MarkerPath, rate_hz: float) -> None:
    rows = np.flatnonzero(path.seen)
    areas = path.area_m2[rows]
    usual = median_filter(areas, size=max(5, 2 * round(rate_hz / 2) + 1), mode="nearest")
    odd = rows[(areas > _AREA_RATIO * usual) | (areas < usual / _AREA_RATIO)]
    path.xy[odd] = path.px[odd] = np.nan
    path.area_m2[odd] = np.nan


def _require_a_drive(path: MarkerPath) -> None:
    seen = path.xy[path.seen]
    extent_m = float(np.hypot(*np.ptp(seen, axis=0))) if len(seen) else 0.0
    if extent_m < _STILL_M:
        raise AiccError(
            f"the only thing of the marker's colour stays within {extent_m:.2f} m: the car was not found "
            "(or never drove); check the colour range"
        )
