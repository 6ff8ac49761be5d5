"""Departure from whatever a tub knows: a recorded cte, a mark, a takeover, an off-track label."""

import math

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.simulator.record_drives import plan_nominal, record
from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.labels import (
    auto_tau,
    check_half_width,
    departed_frames,
    departure_within,
    horizon_labels,
    read_label_csv,
    safe_from_cte,
    safe_from_marks,
    safe_from_takeovers,
    takeover_count,
)
from donkey_aicc.tubs.load import load_drives

NAN = float("nan")


def drive_with_cte(cte, **extra):
    return make_drive("tub", "a", np.zeros((len(cte), 64, 64, 3), np.uint8), np.zeros((len(cte), 2)), cte=cte, **extra)


def test_labels_are_looked_up_ahead_and_never_padded():
    labels = horizon_labels(np.array([1, 0, NAN, 1]), (0, 1, 3, 9))
    expected = [[1, 0, 1, NAN], [0, NAN, NAN, NAN], [NAN, 1, NAN, NAN], [1, NAN, NAN, NAN]]
    np.testing.assert_array_equal(labels, np.array(expected, dtype=np.float32))
    assert horizon_labels(np.empty(0), (1, 5)).shape == (0, 2)


def test_cte_on_the_threshold_is_safe_and_unknown_cte_is_unlabelled():
    safe = safe_from_cte(np.array([0.0, 0.3, -0.3, 0.31, NAN]), tau=0.3)
    np.testing.assert_array_equal(safe, np.array([1, 1, 1, 0, NAN], dtype=np.float32))
    np.testing.assert_array_equal(safe_from_cte(np.array([2.0, 0.0]), tau=0.5, centre=2.0), [1, 0])


@pytest.mark.parametrize("tau", [0.0, -1.0, NAN, float("inf")])
def test_an_impossible_tau_is_refused(tau):
    with pytest.raises(ConfigError, match="tau"):
        safe_from_cte(np.zeros(3), tau)


def test_auto_tau_makes_half_of_the_nominal_frames_safe():
    rng = np.random.default_rng(0)
    nominal = [drive_with_cte(rng.normal(0.5, 0.3, 101)) for _ in range(3)]
    shifted = drive_with_cte(np.full(500, 9.0), protocol="dark", severity=3)
    tau = auto_tau([*nominal, shifted], centre=0.5)
    share = np.mean(np.concatenate([safe_from_cte(sequence.cte, tau, 0.5) for sequence in nominal]))
    assert abs(share - 0.5) < 0.01


def test_auto_tau_without_cte_says_what_to_do():
    with pytest.raises(AiccError, match="CSV"):
        auto_tau([drive_with_cte(np.full(4, NAN))])
    with pytest.raises(AiccError, match="--tau"):
        auto_tau([drive_with_cte(np.zeros(9))])


def test_takeover_condemns_the_second_before_it_and_leaves_the_person_unlabelled():
    mode = np.array(["local"] * 30 + ["user"] * 5 + ["local_angle"] * 5)
    safe = safe_from_takeovers(mode, np.arange(40) * 0.1, window_s=1.0)
    assert takeover_count(mode) == 1
    assert np.all(safe[:20] == 1) and np.all(safe[20:30] == 0) and np.isnan(safe[30:35]).all() and np.all(safe[35:] == 1)


def test_a_mark_condemns_its_frames_and_the_second_before():
    marks = np.zeros(20)
    marks[12:14], marks[19] = 1, NAN
    safe = safe_from_marks(marks, np.arange(20) * 0.25, window_s=1.0)
    assert safe[:8].tolist() == [1] * 8 and safe[8:14].tolist() == [0] * 6 and safe[14:19].tolist() == [1] * 5
    assert np.isnan(safe[19])


def test_label_file_with_cte_and_gaps(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("\ufeffindex,cte,quality\n0,0.5,1\n2,,0\n3,-0.25,1\n")
    cte, safe, certainty = read_label_csv(path, "tub", one_tub=True).lookup(np.arange(5))
    assert certainty.tolist() == [1.0] * 5
    np.testing.assert_array_equal(cte, np.array([0.5, NAN, NAN, -0.25, NAN], dtype=np.float32))
    assert np.isnan(safe).all()


def test_label_file_for_several_tubs_needs_their_names(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("tub,index,safe\na,0,true\nb,0,0\n")
    assert read_label_csv(path, "a", one_tub=False).safe == {0: 1.0}
    assert read_label_csv(path, "b", one_tub=False).safe == {0: 0.0}
    path.write_text("index,safe\n0,1\n")
    with pytest.raises(AiccError, match="column tub"):
        read_label_csv(path, "a", one_tub=False)


@pytest.mark.parametrize("content", ["", "number,cte\n1,2\n", "index,cte\nx,0.1\n", "index,cte\n1,near\n", "index,safe\n1,0.5\n"])
def test_a_wrong_label_file_is_refused(tmp_path, content):
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(AiccError, match="labels.csv"):
        read_label_csv(path, "tub", one_tub=True)
    with pytest.raises(AiccError, match="cannot read"):
        read_label_csv(tmp_path / "absent.csv", "tub", one_tub=True)


NOT_RECORDED = np.full(6, np.nan)


def six_frames(**extra):
    return make_drive("tub", "a", np.zeros((6, 64, 64, 3), np.uint8), np.zeros((6, 2)), **extra)


def departed(drive, marks=NOT_RECORDED, **more):
    return departed_frames(drive.cte, drive.mode, marks, **more)


def test_beyond_the_lane_is_a_departure_and_an_unknown_cte_tells_nothing():
    drive = six_frames(cte=[0.1, -0.3, 0.36, -0.5, np.nan, 0.35])
    said = departed(drive, half_width=0.35)
    np.testing.assert_array_equal(said, [0, 0, 1, 1, np.nan, 0])


def test_the_middle_of_the_road_may_lie_beside_zero():
    said = departed(six_frames(cte=np.full(6, 0.5)), half_width=0.35, centre=0.5)
    assert not said.any()


def test_marks_and_takeovers_are_departures_by_themselves():
    mode = np.array(["local", "local", "user", "user", "local", "local"])
    marks = np.array([0, 0, 0, 1, 0, 0.0])
    np.testing.assert_array_equal(departed(six_frames(mode=mode), half_width=None)[:2], [0, 1])
    np.testing.assert_array_equal(departed(six_frames(mode=mode), marks, half_width=None), [0, 1, 0, 1, 0, 0])


def test_a_drive_without_anything_to_tell_says_nothing():
    said = departed(six_frames(mode="local"), half_width=None)
    assert np.isnan(said).all()


def test_unsafe_in_a_label_file_is_no_departure_unless_the_file_says_so(tmp_path):
    """A race car is unsafe half of the time and hardly ever leaves the track."""
    record(plan_nominal(tmp_path / "tubs", "loop", 1, (12, 12), 3), None)
    labels = tmp_path / "labels.csv"

    def departed(columns, row):
        labels.write_text("\n".join([columns, *(row.format(index=index) for index in range(300))]))
        return load_drives([tmp_path / "tubs"], labels_csv=labels, tau=None, cache_dir=tmp_path / "cache").drives[0].departed

    assert not departed("index,safe", "{index},0").any()
    assert departed("index,safe,departed", "{index},1,1").all()
    assert not departed("index,cte,departed", "{index},0,0").any()
    with pytest.raises(AiccError, match="departed must be 0, 1 or empty, got '2'"):
        departed("index,safe,departed", "{index},1,2")


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
    assert np.isfinite(loaded.drives[0].departed).sum() >= 11  # the first record of a tub may be empty telemetry
    narrow = load_drives([tmp_path / "tubs"], tau=None, cache_dir=tmp_path / "cache", lane_half_width=1e-6)
    assert narrow.drives[0].departed[5:].all()
