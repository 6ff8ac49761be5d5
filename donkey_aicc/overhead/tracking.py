"""The car's path from the video: frames -> blobs -> tracklets -> the one chain that is the car."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.blobs import BlobFinder
from donkey_aicc.overhead.setup_file import OverheadSetup
from donkey_aicc.overhead.tracklets import TrackletBuilder, best_chain
from donkey_aicc.overhead.video import Video
from donkey_aicc.progress import progress

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
    path = MarkerPath(
        np.array(times), np.full((len(times), 2), np.nan), np.full((len(times), 2), np.nan), *_empty(len(times), counts)
    )
    for tracklet in chain:
        path.xy[tracklet.frames] = tracklet.xy()
        path.px[tracklet.frames] = [blob.px for blob in tracklet.blobs]
        path.area_m2[tracklet.frames] = tracklet.areas_m2()
    _drop_half_hidden(path, video.info.rate_hz)
    _require_a_drive(path)
    return path


def _empty(length: int, counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.full(length, np.nan), np.maximum(np.array(counts) - 1, 0)


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
