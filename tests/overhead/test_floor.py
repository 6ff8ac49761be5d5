import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.overhead.floor import Floor, Lens, estimate_k1

LENS = Lens((640, 480), -0.04)
PX = np.array([(80, 420), (600, 400), (430, 60), (190, 70)], float)  # seen from the side: further up is further away
M = np.array([(0, 0), (4, 0), (4, 3), (0, 3)], float)


def test_the_clicked_points_are_where_they_were_measured():
    floor = Floor(PX, M, LENS)
    assert np.allclose(floor.to_floor(PX), M, atol=1e-6)
    assert floor.residual_m < 1e-6


def test_pixel_and_floor_undo_each_other():
    floor = Floor(PX, M, LENS)
    xy = np.random.default_rng(0).uniform((0, 0), (4, 3), (50, 2))
    assert np.allclose(floor.to_floor(floor.to_pixel(xy)), xy, atol=1e-6)


def test_what_is_behind_a_slanted_camera_has_no_pixel():
    floor = Floor(PX, M, LENS)
    ahead, behind = floor.to_pixel(np.array([(2.0, 1.5), (2.0, -500.0)]))
    assert np.isfinite(ahead).all()
    assert np.isnan(behind).all()


def test_more_points_average_out_and_leave_a_residual():
    px = np.vstack([PX, Floor(PX, M, LENS).to_pixel(np.array([[2.0, 1.5]])) + 3])
    floor = Floor(px, np.vstack([M, [[2.0, 1.5]]]), LENS)
    assert 0.001 < floor.residual_m < 0.05


def test_area_of_a_pixel():
    floor = Floor(np.array([(0, 400), (400, 400), (400, 0), (0, 0)]), M[[0, 1, 2, 3]] * (1, 4 / 3), Lens((640, 480)))
    assert floor.square_metres_per_pixel(np.array([[200.0, 100.0]]))[0] == pytest.approx(1e-4)


def test_a_raised_marker_is_put_back_below_itself():
    floor = Floor(PX, M, LENS, marker_height_m=0.2, camera_m=(2.0, 1.0, 2.5))
    marker = np.array([3.0, 2.0])
    seen = np.array([2.0, 1.0]) + (marker - (2.0, 1.0)) * 2.5 / 2.3  # where the ray through the marker meets the floor
    assert np.allclose(floor.to_marker(floor.to_pixel(seen)), marker, atol=1e-6)


@pytest.mark.parametrize(
    ("px", "m", "said"),
    [
        (PX[:3], M[:3], "at least 4"),
        (np.array([(0, 0), (100, 100), (200, 200), (0, 300)]), M, "1, 2, 3 lie on one line"),
        (PX, np.array([(0, 0), (1, 0), (2, 0), (0, 3)]), "one line .in metres"),
        (PX, M * (1, -1), "mirrored"),
        (PX[[1, 0, 2, 3]], M, "swapped"),
        (PX, np.full((4, 2), np.nan), "must be numbers"),
    ],
)
def test_impossible_points_are_refused(px, m, said):
    with pytest.raises(ConfigError, match=said):
        Floor(px, m, LENS)


def test_a_raised_marker_needs_the_cameras_place():
    with pytest.raises(ConfigError, match="camera_m"):
        Floor(PX, M, LENS, marker_height_m=0.2)
    with pytest.raises(ConfigError, match="height must exceed"):
        Floor(PX, M, LENS, marker_height_m=0.2, camera_m=(0, 0, 0.1))


SIZE = (1280, 720)


@pytest.mark.parametrize("k1", [-0.14, -0.05, 0.0, 0.2])
def test_distorting_and_undistorting_cancel(k1):
    px = np.random.default_rng(0).uniform((0, 0), SIZE, (200, 2))
    lens = Lens(SIZE, k1)
    assert np.allclose(lens.distort(lens.undistort(px)), px, atol=1e-6)


def test_five_percent_barrel_pulls_the_corner_in_by_five_percent():
    corner, middle = np.array([1279.5, 719.5]), np.array([639.5, 359.5])
    bent = Lens(SIZE, -0.05).distort(corner)
    assert np.allclose((bent - middle) / (corner - middle), 0.95, atol=1e-3)


def test_the_middle_stays():
    assert np.allclose(Lens(SIZE, -0.1).undistort([639.5, 359.5]), [639.5, 359.5])


def test_what_is_far_outside_stays_outside():
    away = Lens(SIZE, -0.1).distort(np.array([[5000.0, 360.0], [50000.0, 360.0]]))
    assert (away[:, 0] > 1280).all()


def test_k1_is_found_from_a_straight_edge():
    lens = Lens(SIZE, -0.06)
    edge = lens.distort(np.stack([np.linspace(50, 1200, 8), np.linspace(90, 60, 8)], axis=1))
    edge += np.random.default_rng(1).normal(0, 0.3, edge.shape)
    assert estimate_k1(SIZE, [edge]) == pytest.approx(-0.06, abs=0.01)


@pytest.mark.parametrize("k1", [-0.2, 0.5, float("nan"), "0"])
def test_impossible_k1_is_refused(k1):
    with pytest.raises(ConfigError, match="lens_k1"):
        Lens(SIZE, k1)


@pytest.mark.parametrize(("line", "said"), [([[0, 0], [900, 0]], "at least 3 points"), ([[0, 0], [9, 0], [20, 1]], "30 %")])
def test_a_line_that_shows_nothing_is_refused(line, said):
    with pytest.raises(ConfigError, match=said):
        estimate_k1(SIZE, [np.array(line)])
