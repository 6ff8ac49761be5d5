"""Departure from whatever a tub knows: a recorded cte, a mark, a takeover, an off-track label."""

import math

import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.record_drives import plan_nominal, record
from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.labels import check_half_width, departed_frames, departure_within
from donkey_aicc.tubs.load import load_drives

NOT_RECORDED = np.full(6, np.nan)


def six_frames(**extra):
    return make_drive("tub", "a", np.zeros((6, 64, 64, 3), np.uint8), np.zeros((6, 2)), **extra)


def test_beyond_the_lane_is_a_departure_and_an_unknown_cte_tells_nothing():
    drive = six_frames(cte=[0.1, -0.3, 0.36, -0.5, np.nan, 0.35])
    said = departed_frames(drive, NOT_RECORDED, half_width=0.35)
    np.testing.assert_array_equal(said, [0, 0, 1, 1, np.nan, 0])


def test_the_middle_of_the_road_may_lie_beside_zero():
    said = departed_frames(six_frames(cte=np.full(6, 0.5)), NOT_RECORDED, half_width=0.35, centre=0.5)
    assert not said.any()


def test_marks_and_takeovers_are_departures_by_themselves():
    mode = np.array(["local", "local", "user", "user", "local", "local"])
    marks = np.array([0, 0, 0, 1, 0, 0.0])
    np.testing.assert_array_equal(departed_frames(six_frames(mode=mode), NOT_RECORDED, half_width=None)[:2], [0, 1])
    np.testing.assert_array_equal(departed_frames(six_frames(mode=mode), marks, half_width=None), [0, 1, 0, 1, 0, 0])


def test_a_drive_without_anything_to_tell_says_nothing():
    said = departed_frames(six_frames(mode="local"), NOT_RECORDED, half_width=None)
    assert np.isnan(said).all()


def test_off_track_labels_of_pictures_are_departures():
    safe = np.array([1, 1, 0, np.nan, 1, 1])
    said = departed_frames(six_frames(safe=safe), NOT_RECORDED, half_width=None, off_track=True)
    np.testing.assert_array_equal(said, [0, 0, 1, np.nan, 0, 0])


def test_departure_within_k_grows_with_k_and_ends_with_what_is_known():
    departed = np.array([0, 0, 0, 1, 1, 0, 0, np.nan, 0.0])
    within = departure_within(departed, (1, 3))
    np.testing.assert_array_equal(within[:, 0], [0, 0, 1, np.nan, np.nan, 0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(within[:, 1], [1, 1, 1, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_a_lane_without_width_is_refused(width):
    with pytest.raises(ConfigError, match="half width"):
        check_half_width(width)


def test_a_simulated_tub_knows_its_lane(tmp_path):
    record(plan_nominal(tmp_path / "tubs", "loop", 1, (12, 12), 3), None)
    loaded = load_drives([tmp_path / "tubs"], tau=None, cache_dir=tmp_path / "cache")
    assert loaded.lane_half_width == pytest.approx(0.35)
    assert np.isfinite(loaded.sequences[0].departed).sum() >= 11  # the first record of a tub may be empty telemetry
    narrow = load_drives([tmp_path / "tubs"], tau=None, cache_dir=tmp_path / "cache", lane_half_width=1e-6)
    assert narrow.sequences[0].departed[5:].all()
