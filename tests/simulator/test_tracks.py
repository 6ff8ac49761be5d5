import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.tracks import TRACK_NAMES, generate_track, is_drivable, make_track
from donkey_aicc.simulator.vehicle import VehicleConfig

EVERY_TRACK = [*TRACK_NAMES, *(f"seed:{seed}" for seed in (*range(18), 123456, 2**40))]


def crosses_itself(points: np.ndarray) -> bool:
    """Do any two pieces of a closed polyline intersect?"""
    a, b = points, np.roll(points, -1, axis=0)

    def side(p, q, r):
        return (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (r[..., 0] - p[..., 0])

    p, q, r, s = a[:, None], b[:, None], a[None], b[None]
    apart = np.abs(np.arange(len(a))[:, None] - np.arange(len(a)))
    neighbours = (apart <= 1) | (apart == len(a) - 1)
    crossing = (side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0)
    return bool((crossing & ~neighbours).any())


@pytest.mark.parametrize("name", EVERY_TRACK)
def test_every_track_can_be_driven(name):
    track = make_track(name)
    assert track.name == name
    assert 12.0 < track.length_m < 40.0
    assert track.min_radius_m >= 1.2 * VehicleConfig().turning_radius_m
    assert track.min_clearance_m() > 2 * track.half_width_m
    for offset_m in (-track.half_width_m, 0.0, track.half_width_m):
        assert not crosses_itself(track.lane_edge(offset_m)[::5])


def test_crossing_is_noticed():
    angle = 0.01 + np.linspace(0, 2 * np.pi, 200, endpoint=False)
    assert crosses_itself(np.stack([np.sin(angle), np.sin(2 * angle)], axis=1))


def test_same_seed_same_track_other_seed_other_track():
    assert np.array_equal(generate_track(5).centreline, generate_track(5).centreline)
    assert generate_track(5).length_m != generate_track(6).length_m


@pytest.mark.slow
def test_any_seed_gives_a_drivable_track():
    assert all(is_drivable(generate_track(seed)) for seed in range(2000))


def test_default_is_a_twenty_metre_loop_with_sharp_turns():
    track = make_track("loop")
    assert 19.0 < track.length_m < 22.0
    assert track.min_radius_m < 0.8
    assert track.curvature.min() < -0.5 < 0.5 < track.curvature.max()  # turns both ways


@pytest.mark.parametrize("name", ["figure-eight", "", "seed:", "seed:x", "seed:-1"])
def test_unknown_track_names_the_allowed_ones(name):
    with pytest.raises(ConfigError, match="loop, oval, hairpin, chicane"):
        make_track(name)


def test_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="seed must be >= 0, got -3"):
        generate_track(-3)
