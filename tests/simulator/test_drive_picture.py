import cv2
import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.view_from_above import OverheadCamera, draw_drive

WIDTH = 500


@pytest.fixture(scope="module")
def drive():
    track = make_track("loop")
    xy = track.lane_edge(0.1)[::3]
    return track, xy, np.linspace(0.0, 1.0, len(xy))


def colour_of(image, track, xy):
    xmin, ymin, xmax, ymax = track.arena
    overhead = OverheadCamera(track, WIDTH, round(WIDTH * (ymax - ymin) / (xmax - xmin)))
    col, row = np.round(overhead.world_to_pixel(xy)).astype(int)
    return image[row, col].astype(int)


def test_path_is_blue_where_low_and_red_where_high(drive):
    track, xy, values = drive
    image = draw_drive(track, xy, values, "value", width_px=WIDTH)
    low, high = colour_of(image, track, xy[20]), colour_of(image, track, xy[-20])
    assert low[2] > low[0] and high[0] > high[2] + 60


def test_unknown_values_are_grey(drive):
    track, xy, values = drive
    image = draw_drive(track, xy, np.full(len(xy), np.nan), "value", width_px=WIDTH)
    assert np.ptp(colour_of(image, track, xy[100])) < 10


def test_no_line_where_the_car_was_put_back(drive):
    track, xy, _ = drive
    two = np.array([xy[0], xy[0] + 0.01, xy[200], xy[200] + 0.01])
    image = draw_drive(track, two, np.ones(4), "value", limits=(0.0, 1.0), width_px=WIDTH)
    middle = colour_of(image, track, 0.5 * (xy[0] + xy[200]))
    assert not (middle[0] > middle[2] + 60)


def test_picture_is_written(drive, tmp_path):
    track, xy, values = drive
    image = draw_drive(track, xy, values, "|cte| (m)", tmp_path / "drive.png", width_px=WIDTH)
    assert np.array_equal(cv2.imread(str(tmp_path / "drive.png"))[:, :, ::-1], image)


def test_constant_value_and_single_point_can_be_drawn(drive):
    track, xy, _ = drive
    assert draw_drive(track, xy, np.zeros(len(xy)), "value", width_px=WIDTH).shape[2] == 3
    assert draw_drive(track, xy[:1], np.zeros(1), "value", width_px=WIDTH).shape[2] == 3


def test_mismatched_lengths_are_refused(drive):
    track, xy, values = drive
    with pytest.raises(AiccError, match="as many values"):
        draw_drive(track, xy, values[:-1], "value")
