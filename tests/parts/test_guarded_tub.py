"""Recording never ends a drive: frames are converted, bad numbers left out, a full disk costs only its own records."""

import os
import resource
import signal

import numpy as np
import pytest
from donkeycar.parts.tub_v2 import TubWriter
from PIL import Image

from donkey_aicc.parts.guarded_tub import PAUSE_S, GuardedTub
from donkey_aicc.tubs.tub_reader import read_v2_tub
from tests import car_under_test as cut

INPUTS, TYPES = ["cam/image_array", "user/angle", "lap", "p", "user/mode"], ["image_array", "float", "int", "vector", "str"]
GREY = np.full((12, 16, 3), 100, np.uint8)


def tub(folder, **options):
    return GuardedTub(TubWriter(str(folder), inputs=INPUTS, types=TYPES), **options)


def pixels(folder, number=0):
    return np.asarray(Image.open(folder / "images" / f"{number}_cam_image_array_.jpg"))


@pytest.mark.parametrize(
    ("frame", "shape", "level"),
    [
        (GREY, (12, 16, 3), 100),
        (np.dstack([GREY, np.zeros((12, 16), np.uint8)]), (12, 16, 3), 100),
        (GREY[:, :, :1], (12, 16), 100),
        (GREY[:, :, :2], (12, 16), 100),
        (GREY[:, :, 0], (12, 16), 100),
        (GREY / np.float32(255), (12, 16, 3), 100),
        (GREY.astype(float), (12, 16, 3), 100),
        (GREY.astype(np.int64) + 1000, (12, 16, 3), 255),
        (GREY.tolist(), (12, 16, 3), 100),
    ],
)
def test_frames_are_converted(tmp_path, frame, shape, level):
    part = tub(tmp_path)
    assert part.run(frame, 0.1, 1, [0.5], "user") == 1
    part.shutdown()
    seen = pixels(tmp_path)
    assert seen.shape == shape and np.abs(seen.astype(int) - level).max() <= 2


BAD_FRAMES = [
    np.zeros((0, 16, 3), np.uint8),
    np.zeros((2, 3, 4, 5)),
    np.full((12, 16, 3), np.nan),
    "frame",
    object(),
    np.zeros(7),
]
BAD_FRAMES += [np.zeros((12, 16, 7), np.uint8), np.array([None]), 10**400]


@pytest.mark.parametrize("frame", BAD_FRAMES, ids=range(len(BAD_FRAMES)))
def test_a_frame_that_no_picture_can_hold_costs_its_record(tmp_path, frame, capsys):
    part = tub(tmp_path)
    assert [part.run(each, 0.1, 1, [0.5], "user") for each in (GREY, frame, GREY)] == [1, 1, 2]
    part.shutdown()
    assert part.left_out == 1 and "1 records could not be written" in capsys.readouterr().out
    assert [record["_index"] for record in cut.read_tub(tmp_path)[0]] == [0, 1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.float32("nan")])
def test_a_number_that_is_not_finite_is_left_out_of_its_record(tmp_path, bad):
    part = tub(tmp_path)
    assert part.run(GREY, bad, bad, [0.5, bad], "user") == 1
    part.shutdown()
    (record,), _ = cut.read_tub(tmp_path)
    assert set(record) & set(INPUTS) == {"cam/image_array", "user/mode"}


def test_a_full_disk_costs_only_its_own_records(tmp_path, caplog):
    """As a full disk does, a limit on file sizes lets part of a line through and then fails."""
    now = [0.0]
    part = tub(tmp_path, clock=lambda: now[0])
    for _ in range(5):
        part.run(GREY, 0.1, 1, [0.5], "user")
    size = os.path.getsize(tmp_path / "catalog_0.catalog")
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, former[1][1]))
    try:
        for _ in range(10):
            now[0] += PAUSE_S / 4
            part.run(GREY, 0.2, 1, [0.5], "user")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former[1])
        signal.signal(signal.SIGXFSZ, former[0])
    now[0] += PAUSE_S
    for _ in range(5):
        part.run(GREY, 0.3, 1, [0.5], "user")
    part.shutdown()
    assert part.left_out == 10 and [record.levelname for record in caplog.records].count("ERROR") == 1
    kept = [record.values["user/angle"] for record in read_v2_tub(tmp_path).records]
    assert kept[:5] == [0.1] * 5 and kept[-5:] == [0.3] * 5
