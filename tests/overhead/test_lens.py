import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.overhead.floor import Lens, estimate_k1

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
