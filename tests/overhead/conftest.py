"""A correct setup as a person would give it, and small videos."""

import cv2
import numpy as np
import pytest

from tests.tubs.conftest import cache, make_tub  # noqa: F401

SQUARE = [(100.0, 380.0, 0.0, 0.0), (540.0, 380.0, 4.0, 0.0), (540.0, 60.0, 4.0, 3.0), (100.0, 60.0, 0.0, 3.0)]


@pytest.fixture
def inputs() -> dict:
    """A camera that looks straight down: 110 px a metre, a round track of 1 m radius."""
    angles = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
    return {
        "image_size_px": [640, 480],
        "floor_points": [{"px": [u, v], "m": [x, y]} for u, v, x, y in SQUARE],
        "marker": {"hsv_low": [145, 100, 60], "hsv_high": [170, 255, 255], "size_m": 0.12},
        "centreline_m": np.stack([2 + np.cos(angles), 1.5 + np.sin(angles)], axis=1).tolist(),
    }


@pytest.fixture
def make_video(tmp_path):
    """make_video(frames, rate_hz): write (rows, columns, 3) BGR frames as Motion JPEG."""

    def make(frames, rate_hz=20.0, name="video.avi"):
        path = tmp_path / name
        size = (frames[0].shape[1], frames[0].shape[0])
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), rate_hz, size)
        for frame in frames:
            writer.write(frame)
        writer.release()
        return path

    return make


def floor_frame(spots, background=(120, 130, 125)) -> np.ndarray:
    """A grey 640x480 frame with magenta spots of 13 px at (x, y) metres of the setup above."""
    frame = np.full((480, 640, 3), background, np.uint8)
    for x, y in spots:
        centre = (round((100 + 110 * x) * 16), round((380 - 320 / 3 * y) * 16))
        cv2.circle(frame, centre, 7 * 16, (200, 0, 255), -1, cv2.LINE_AA, 4)
    return frame


@pytest.fixture
def draw_spots():
    return floor_frame
