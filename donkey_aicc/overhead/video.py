"""Reading a video: size, rate, one frame for a person to look at, all frames with their times, and blobs.

Blobs are everything in one frame that could be the marker: searched in a small picture, measured in the full one.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.setup_file import OverheadSetup


@dataclass(frozen=True)
class VideoInfo:
    """What the file says of itself; `frames` may be a guess of the container."""

    size_px: tuple[int, int]  # width, height
    rate_hz: float
    frames: int

    @property
    def duration_s(self) -> float:
        return self.frames / self.rate_hz


class Video:
    """A video file. Every method opens it anew, so that one object can serve a page and a loop."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise AiccError(f"no video at {path}: no such file")
        capture = self._open()
        size = (int(capture.get(cv2.CAP_PROP_FRAME_WIDTH)), int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT)))
        rate_hz = capture.get(cv2.CAP_PROP_FPS)
        frames = int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
        readable, first = capture.read()
        capture.release()
        if not readable or min(size) < 16:
            raise AiccError(f"cannot read a frame of {path}: the file is damaged, empty or of a format OpenCV does not know")
        if not (math.isfinite(rate_hz) and 0.5 <= rate_hz <= 1000):
            raise AiccError(f"the video {path} must have a frame rate from 0.5 to 1000 Hz, got {rate_hz}")
        # A turned phone video is turned back while decoding: the frame itself has the last word on the size.
        self.info = VideoInfo((first.shape[1], first.shape[0]), float(rate_hz), max(frames, 1))

    def frame_at(self, time_s: float) -> np.ndarray:
        """(rows, columns, 3) uint8 BGR, the frame shown at time_s or the last one that can be read."""
        capture = self._open()
        wanted = min(max(round(time_s * self.info.rate_hz), 0), self.info.frames - 1)
        try:
            for number in (wanted, max(wanted - round(self.info.rate_hz), 0), 0):
                capture.set(cv2.CAP_PROP_POS_FRAMES, number)
                readable, frame = capture.read()
                if readable:
                    return frame
        finally:
            capture.release()
        raise AiccError(f"cannot read a frame of {self.path} at {time_s:.1f} s")

    def frames(self) -> Iterator[tuple[float, np.ndarray]]:
        """(time in seconds from the first frame, (rows, columns, 3) uint8 BGR) of every readable frame, in order."""
        capture = self._open()
        first_s, last_s, step_s = math.nan, -math.inf, 1.0 / self.info.rate_hz
        try:
            while True:
                readable, frame = capture.read()
                if not readable:
                    return
                stamp_s = capture.get(cv2.CAP_PROP_POS_MSEC) / 1000.0
                if math.isnan(first_s):
                    first_s = stamp_s
                # Phones record at a varying rate, so the stamps count; some containers have none, then the rate does.
                time_s = stamp_s - first_s
                if not time_s > last_s:
                    time_s = last_s + step_s
                last_s = time_s
                yield time_s, frame
        finally:
            capture.release()

    def _open(self) -> cv2.VideoCapture:
        capture = cv2.VideoCapture(str(self.path))
        if not capture.isOpened():
            raise AiccError(f"cannot open the video {self.path}: the file is damaged or of a format OpenCV does not know")
        return capture


_SEARCH_PX = 5.0  # least side of the marker in the small picture: enough to tell it from noise
_LARGEST_MISFIT = math.log(3.5)  # a blob's area may differ from the marker's by this factor before it is ignored
_MOST = 12  # candidates per frame; more means that the colour range is wrong, not that there are so many markers
_CLOSING = np.ones((3, 3), np.uint8)
_BORDER_M = 1.5  # how far from the centreline anything is looked for


@dataclass(frozen=True)
class Blob:
    """A spot of the marker's colour."""

    xy: tuple[float, float]  # metres
    px: tuple[float, float]  # column, row
    area_m2: float


class BlobFinder:
    """Finds blobs of the setup's colour within reach of the track."""

    def __init__(self, setup: OverheadSetup) -> None:
        self._setup = setup
        self._left, self._top, right, bottom = _region(setup)
        self._box = (slice(self._top, bottom), slice(self._left, right))
        metres_per_px = float(np.sqrt(np.median(setup.floor.square_metres_per_pixel(setup.floor_px))))
        side_px = setup.marker_size_m / metres_per_px if setup.marker_size_m else 2 * _SEARCH_PX
        self.scale = int(np.clip(side_px // _SEARCH_PX, 1, 6))
        self._least_px = max(2.0, 0.1 * (side_px / self.scale) ** 2) if setup.marker_size_m else 3.0

    def find(self, bgr: np.ndarray) -> list[Blob]:
        """Blobs of a whole frame, best fitting size first."""
        region = bgr[self._box]
        if self.scale > 1:
            size = (region.shape[1] // self.scale, region.shape[0] // self.scale)
            small = cv2.resize(region[: size[1] * self.scale, : size[0] * self.scale], size, interpolation=cv2.INTER_AREA)
        else:
            small = region
        mask = self._setup.colour.mask(small)
        if not mask.any():
            return []
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        stats = stats[1:][stats[1:, cv2.CC_STAT_AREA] >= self._least_px]
        biggest_first = stats[np.argsort(-stats[:, cv2.CC_STAT_AREA])][: 3 * _MOST]
        measured = [found for box in biggest_first if (found := self._measure(bgr, box[:4])) is not None]
        return self._on_the_floor(np.array(measured).reshape(-1, 3))

    def _measure(self, bgr: np.ndarray, box: np.ndarray) -> tuple[float, float, float] | None:
        """Column, row and area in pixels of the blob in a box of the small picture, from the full one."""
        left, top, width, height = (int(value) * self.scale for value in box)
        margin = 3 + 2 * self.scale
        left, top = left + self._left - margin, top + self._top - margin
        right, bottom = left + width + 2 * margin, top + height + 2 * margin
        left, top = max(0, left), max(0, top)
        mask = self._setup.colour.mask(cv2.GaussianBlur(bgr[top:bottom, left:right], (3, 3), 0))
        count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        if count < 2:
            return None
        largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
        # Closing fills specks that noise left, so that they do not pull the middle to one side.
        solid = cv2.morphologyEx((labels == largest).astype(np.uint8), cv2.MORPH_CLOSE, _CLOSING)
        moments = cv2.moments(solid, binaryImage=True)
        area_px = moments["m00"]
        return left + moments["m10"] / area_px, top + moments["m01"] / area_px, area_px

    def _on_the_floor(self, measured: np.ndarray) -> list[Blob]:
        """(n, 3) column, row, area in pixels -> blobs, without those of the wrong size."""
        if not len(measured):
            return []
        floor, px = self._setup.floor, measured[:, :2]
        areas_m2 = measured[:, 2] * floor.square_metres_per_pixel(px)
        places = floor.to_marker(px).tolist()
        blobs = [
            Blob((x, y), (column, row), area_m2)
            for (x, y), (column, row), area_m2 in zip(places, px.tolist(), areas_m2.tolist(), strict=True)
        ]
        fitting = [blob for blob in blobs if self._misfit(blob) <= _LARGEST_MISFIT]
        return sorted(fitting, key=self._misfit)[:_MOST]

    def _misfit(self, blob: Blob) -> float:
        if self._setup.marker_size_m is None:
            return 0.0
        return abs(math.log(blob.area_m2 / self._setup.marker_size_m**2))


def _region(setup: OverheadSetup) -> tuple[int, int, int, int]:
    """left, top, right, bottom of the part of the picture around the track."""
    low, high = setup.centreline.points.min(axis=0) - _BORDER_M, setup.centreline.points.max(axis=0) + _BORDER_M
    edge = np.linspace(0.0, 1.0, 20)
    xs, ys = low[0] + edge * (high[0] - low[0]), low[1] + edge * (high[1] - low[1])
    outline = np.vstack(
        [np.column_stack([xs, np.full(20, y)]) for y in (low[1], high[1])]
        + [np.column_stack([np.full(20, x), ys]) for x in (low[0], high[0])]
    )
    px = setup.floor.to_pixel(outline)
    width, height = setup.size_px
    if not np.isfinite(px).all():  # a slanted view: the surroundings reach behind the camera
        return 0, 0, width, height
    left, top = np.floor(np.clip(px.min(axis=0), 0, (width - 16, height - 16))).astype(int)
    right, bottom = np.ceil(np.clip(px.max(axis=0), (left + 16, top + 16), (width, height))).astype(int)
    return int(left), int(top), int(right), int(bottom)
