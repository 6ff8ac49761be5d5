import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.view_from_above import OverheadCamera

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
