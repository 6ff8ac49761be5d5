"""The moments worth a look are found, once each."""

import numpy as np
import pytest

from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.run import APART_S, Run, find_events
from tests.replay.recorded_tub import DANGER, FAULT, OUT, write_tub


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    return find_events(read_run(write_tub(tmp_path_factory.mktemp("replay") / "tub")))


def of_kind(events, kind):
    return [event for event in events if event.kind == kind]


def test_departure_alarm_and_fault_are_each_found_where_they_begin(events):
    (departure,) = of_kind(events, "departure")
    assert departure.row == OUT.start and departure.text == "left the lane for 0.2 s, up to 50 cm off centre"
    watch, danger = of_kind(events, "alarm")
    assert (watch.row, danger.row) == (FAULT.start, DANGER.start)
    assert danger.text == "danger: the picture is unlike any seen in training"
    (fault,) = of_kind(events, "fault")
    assert (fault.row, fault.text) == (FAULT.start, "dark:3")


def test_raw_and_calibrated_disagree_most_where_the_fault_begins(events):
    worst = max(of_kind(events, "disagreement"), key=lambda event: -abs(event.row - FAULT.start))
    assert worst.row == FAULT.start and worst.text == "raw 91 %, calibrated 50 %"


def test_worst_pictures_are_apart_and_under_the_fault_first(events):
    rows = [event.row for event in of_kind(events, "picture")]
    assert any(FAULT.start <= row < FAULT.stop for row in rows)
    assert all(second - first >= 20 * APART_S for first, second in zip(rows, rows[1:], strict=False))


def run_with(length=100, **columns):
    numbers = {name: np.asarray(values, np.float32) for name, values in columns.items()}
    rows = np.arange(length)
    return Run(None, "", rows, rows / 20.0, 20.0, [], numbers, {}, np.full(length, np.nan))


def test_unclipped_scores_rank_frames_that_clipped_ones_cannot_tell_apart():
    unclipped = np.full(100, 3.0)
    unclipped[70] = 9.0
    found = find_events(run_with(rho=np.ones(100), rho_z=unclipped))
    assert "9.0 times" in next(event.text for event in found if event.row == 70)


def test_a_drive_without_scores_or_labels_has_no_events():
    assert find_events(run_with(steering=np.zeros(100))) == []


@pytest.mark.parametrize("length", [1, 4, 10, 11])
def test_a_drive_of_a_few_frames_has_its_events(length):
    """Four records with `aicc/rho` were a traceback."""
    (event,) = of_kind(find_events(run_with(length, rho=np.linspace(0.1, 1.0, length))), "picture")
    assert 0 <= event.row < length
