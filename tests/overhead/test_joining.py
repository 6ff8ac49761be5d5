import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.centreline import Centreline
from donkey_aicc.overhead.joining import join, place_at, read_trace, write_labels
from donkey_aicc.overhead.tracking import MarkerPath
from donkey_aicc.tubs.labels import read_label_csv

SQUARE = np.array([(0, 0), (8, 0), (8, 6), (0, 6)])


def straight_path(count=100, rate_hz=20.0, unseen=slice(0, 0)):
    times = np.arange(count) / rate_hz
    xy = np.stack([1.0 * times, np.full(count, -0.1)], axis=1)
    xy[unseen] = np.nan
    return MarkerPath(times, xy, xy * 100, np.full(count, 0.01), np.zeros(count, int))


def test_a_record_gets_the_place_at_its_time():
    path = straight_path()
    assert np.allclose(place_at(path, np.array([0.025, 1.0])), [(0.025, -0.1), (1.0, -0.1)])


def test_nothing_is_made_up_where_the_car_was_not_seen():
    path = straight_path(unseen=slice(40, 60))
    known = np.isfinite(place_at(path, np.array([-0.1, 1.9, 2.5, 3.1, 9.0]))[:, 0])
    assert known.tolist() == [False, True, False, True, False]


def test_one_missed_frame_is_bridged():
    assert np.isfinite(place_at(straight_path(unseen=slice(40, 41)), np.array([2.01]))).all()


@pytest.fixture
def trace(make_tub):
    return read_trace(make_tub(50).path)


def test_labels_are_joined_by_time(trace):
    labels = join(straight_path(unseen=slice(40, 60)), trace, Centreline(SQUARE, smooth=False), offset_s=1.0)
    assert labels.cte_m[0] == pytest.approx(0.1)  # below the first edge, which is driven towards +x: to its right
    assert np.isfinite(labels.cte_m).sum() == 50 - 20
    assert labels.labelled_share == pytest.approx(0.6)


def test_the_file_is_what_training_reads(trace, tmp_path):
    labels = join(straight_path(unseen=slice(40, 60)), trace, Centreline(SQUARE, smooth=False), offset_s=1.0)
    write_labels(tmp_path / "labels.csv", labels)
    assert (tmp_path / "labels.csv").read_text().startswith("index,cte\n0,0.1000\n")
    cte, *_ = read_label_csv(tmp_path / "labels.csv", "tub", one_tub=True).lookup(trace.indices)
    assert np.allclose(cte, labels.cte_m, atol=1e-4, equal_nan=True)


def test_files_of_several_tubs_carry_their_names(trace, tmp_path):
    labels = join(straight_path(), trace, Centreline(SQUARE, smooth=False), offset_s=1.0)
    write_labels(tmp_path / "labels.csv", labels, with_tub_name=True)
    cte, *_ = read_label_csv(tmp_path / "labels.csv", "tub", one_tub=False).lookup(trace.indices)
    assert np.isfinite(cte).all()
    assert not read_label_csv(tmp_path / "labels.csv", "other", one_tub=False).cte


def test_deleted_records_are_left_out(make_tub):
    from donkeycar.parts.tub_v2 import Tub

    made = make_tub(10)
    tub = Tub(str(made.path))
    tub.delete_records([3, 4])
    tub.close()
    assert read_trace(made.path).indices.tolist() == [0, 1, 2, 5, 6, 7, 8, 9]


def test_time_that_runs_backwards_is_refused(make_tub):
    made = make_tub(10)
    made.set_value(6, _timestamp_ms=1)
    with pytest.raises(AiccError, match="time runs backwards after record 5"):
        read_trace(made.path)


def test_an_offset_without_any_common_moment_is_refused(trace):
    with pytest.raises(AiccError, match="not one record"):
        join(straight_path(), trace, Centreline(SQUARE, smooth=False), offset_s=500.0)
