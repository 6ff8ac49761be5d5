"""Reading a video: size, rate, one frame for a person to look at, all frames with their times."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from donkey_aicc.errors import AiccError


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
