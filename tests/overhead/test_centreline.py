import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.overhead.centreline import Centreline


def circle(count=16, radius=1.0):
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_a_curve_through_few_clicks_is_a_circle():
    line = Centreline(circle(12))
    assert line.length_m == pytest.approx(2 * np.pi, abs=0.01)
    assert np.allclose(np.hypot(*line.points.T), 1.0, atol=0.003)


def test_right_of_the_driving_direction_is_positive():
    line = Centreline(circle(24))  # counter-clockwise: outside is right
    _, cte = line.project(np.array([[1.2, 0.0], [0.0, 0.9]]))
    assert cte == pytest.approx([0.2, -0.1], abs=0.003)
    _, cte = Centreline(circle(24), reverse=True).project(np.array([[1.2, 0.0], [0.0, 0.9]]))
    assert cte == pytest.approx([-0.2, 0.1], abs=0.003)


def test_distance_along_grows_in_driving_direction():
    line = Centreline(circle(24))
    along, _ = line.project(1.1 * circle(40)[:39])
    assert np.all(np.diff(along[1:]) > 0)
    assert along[10] == pytest.approx(np.pi / 2, abs=0.02)


def test_straight_pieces_keep_their_corners():
    line = Centreline(np.array([(0, 0), (4, 0), (4, 3), (0, 3)]), smooth=False)
    assert line.length_m == pytest.approx(14.0)
    _, cte = line.project(np.array([[2.0, -0.3], [4.3, -0.4], [3.5, 1.5]]))
    assert cte == pytest.approx([0.3, 0.5, -0.5], abs=1e-6)


def test_a_car_between_two_pieces_of_lane_stays_on_its_own():
    hairpin = np.array([(0, 0), (3, 0), (3, 0.5), (0, 0.5)])
    line = Centreline(hairpin, smooth=False)
    drifting = np.array([(1.0 + 0.05 * i, 0.014 * i) for i in range(24)])  # ends nearer to the other piece
    _, cte = line.project(drifting)
    assert cte[-1] == pytest.approx(-drifting[-1, 1], abs=0.002)


def test_unseen_places_stay_unknown():
    _, cte = Centreline(circle()).project(np.array([[1.0, 0.0], [np.nan, np.nan], [0.0, 1.0]]))
    assert np.isfinite(cte).tolist() == [True, False, True]


@pytest.mark.parametrize("points", [circle(2), np.array([(0, 0), (1, 0), (1, 0), (0, 0)]), np.zeros((0, 2)), circle(5, 0.01)])
def test_too_little_of_a_line_is_refused(points):
    with pytest.raises(ConfigError, match="centreline"):
        Centreline(points)


def test_a_line_around_the_earth_takes_no_memory():
    with pytest.raises(ConfigError, match="from 0.5 to 2000 m long, got"):
        Centreline(np.array([(0.0, 0.0), (1e7, 0.0), (0.0, 1e7)]))
