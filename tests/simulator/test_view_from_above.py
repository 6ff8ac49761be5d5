import cv2
import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.view_from_above import OverheadCamera, draw_drive

MARKER = (255, 0, 200)


@pytest.fixture(scope="module")
def camera():
    return OverheadCamera(make_track("loop"), 640, 480)


def test_one_metre_is_the_same_length_everywhere(camera):
    xy = np.random.default_rng(0).uniform(-1, 6, (50, 2))
    for step in ((1.0, 0.0), (0.0, 1.0)):
        moved = camera.world_to_pixel(xy + step) - camera.world_to_pixel(xy)
        assert np.allclose(np.hypot(*moved.T), camera.pixels_per_m)
    assert camera.world_to_pixel((1.0, 2.0)).shape == (2,)


def test_whole_arena_is_in_the_picture(camera):
    xmin, ymin, xmax, ymax = make_track("loop").arena
    pixels = camera.world_to_pixel(np.array([(xmin, ymin), (xmax, ymax)]))
    assert pixels.min() >= -0.5 - 1e-6 and (pixels <= (639.5 + 1e-6, 479.5 + 1e-6)).all()


def test_up_in_the_picture_is_up_in_the_world(camera):
    low, high = camera.world_to_pixel(np.array([(1.0, 0.0), (1.0, 1.0)]))
    assert high[1] < low[1]


def test_marker_is_found_where_the_car_is(camera):
    track = make_track("loop")
    for s_m in (0.0, 4.0, 9.0, 15.0):
        x, y, yaw = track.pose_at(s_m, 0.1)
        image = camera.render(x, y, yaw, marker_rgb=MARKER)
        rows, cols = np.nonzero((image == MARKER).all(axis=2))
        off_px = camera.world_to_pixel((x, y)) - (cols.mean(), rows.mean())
        assert np.hypot(*off_px) < 0.01 * camera.pixels_per_m


def test_lane_edge_is_drawn_where_the_track_says(camera):
    track = make_track("loop")
    image = camera.render(-0.5, -0.5, 0.0).mean(axis=2)

    def brightness(offset_m):
        pixels = np.round(camera.world_to_pixel(track.lane_edge(offset_m))).astype(int)
        return np.median(image[pixels[:, 1], pixels[:, 0]])

    assert brightness(0.35) > brightness(0.2) + 20


def test_car_half_outside_the_picture_is_no_error(camera):
    assert camera.render(-50.0, 3.0, 1.0).shape == (480, 640, 3)


def test_impossible_size_is_refused():
    with pytest.raises(ConfigError, match="width_px"):
        OverheadCamera(make_track("loop"), 0, 480)


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
