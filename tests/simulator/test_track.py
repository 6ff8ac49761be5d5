import math

import numpy as np
import pytest

from donkey_aicc.simulator.track import build_track
from donkey_aicc.simulator.tracks import make_track


@pytest.fixture
def loop():
    return make_track("loop")


def test_points_are_evenly_spaced_and_closed(loop):
    steps = np.hypot(*(np.roll(loop.centreline, -1, axis=0) - loop.centreline).T)
    assert steps.min() > 0.018 and steps.max() < 0.022


def test_headings_follow_the_points(loop):
    ahead = np.roll(loop.centreline, -1, axis=0) - np.roll(loop.centreline, 1, axis=0)
    turn = np.angle(np.exp(1j * (np.arctan2(ahead[:, 1], ahead[:, 0]) - loop.headings)))
    assert np.abs(turn).max() < 0.02


def test_circle_has_its_radius_and_length():
    angles = np.linspace(0, 2 * math.pi, 40, endpoint=False)
    circle = build_track("circle", 2.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1), 0.3)
    assert circle.min_radius_m == pytest.approx(2.0, rel=5e-3)
    assert circle.length_m == pytest.approx(4 * math.pi, rel=1e-3)
    assert circle.curvature.min() > 0  # driven counter-clockwise: left turns


@pytest.mark.parametrize("offset_m", [-0.3, -0.05, 0.0, 0.12, 0.3])
@pytest.mark.parametrize("hinted", [True, False])
def test_projection_undoes_pose_at(loop, offset_m, hinted):
    for s_m in np.linspace(0.0, loop.length_m, 57, endpoint=False):
        x, y, yaw = loop.pose_at(float(s_m), offset_m)
        found_s, cte, heading = loop.project(x, y, float(s_m) - 0.2 if hinted else None)
        along = math.remainder(found_s - s_m, loop.length_m)
        assert abs(along) < 0.03
        assert cte == pytest.approx(offset_m, abs=2e-3)
        assert math.cos(heading - yaw) > 0.999


def test_cte_is_positive_on_the_right(loop):
    x, y, yaw = loop.pose_at(2.0)
    right = (x + 0.1 * math.sin(yaw), y - 0.1 * math.cos(yaw))
    assert loop.project(*right)[1] == pytest.approx(0.1, abs=1e-3)


def test_projection_is_smooth_along_a_drive(loop):
    xy = np.array([loop.pose_at(s, 0.07)[:2] for s in np.arange(0.1, 4.0, 0.004)])
    projected = np.array([loop.project(x, y)[:2] for x, y in xy])
    assert np.abs(np.diff(projected[:, 1])).max() < 1e-3
    assert np.abs(np.diff(projected[:, 0])).max() < 0.02


def test_hint_keeps_the_car_on_its_own_piece_of_lane():
    hairpin = make_track("hairpin")
    # Between two neighbouring straights, a little nearer to the other one.
    x, y, _ = hairpin.pose_at(1.0)
    other = hairpin.project(x, y + 1.7)[0]
    between = (x, y + 0.95)
    assert hairpin.project(*between)[0] == pytest.approx(other, abs=0.5)
    assert hairpin.project(*between, hint_s_m=1.0)[0] == pytest.approx(1.0, abs=0.3)


def test_wrong_hint_still_finds_the_car(loop):
    x, y, _ = loop.pose_at(12.0)
    assert loop.project(x, y, hint_s_m=3.0)[0] == pytest.approx(12.0, abs=0.03)


def test_arena_holds_the_lane_with_room_to_spare(loop):
    xmin, ymin, xmax, ymax = loop.arena
    edge = np.vstack([loop.lane_edge(-loop.half_width_m), loop.lane_edge(loop.half_width_m)])
    assert (edge.min(axis=0) > (xmin + 0.5, ymin + 0.5)).all()
    assert (edge.max(axis=0) < (xmax - 0.5, ymax - 0.5)).all()
