"""The frames that wait, counted to the frame and to the tick; no nets. tests/parts/test_backlog.py has them with the scorer."""

import numpy as np
import pytest

from donkey_aicc.parts.monitor_stream import Backlog, Frame


def waiting(*times, starts=()):
    backlog = Backlog()
    for number, time_s in enumerate(times):
        backlog.add(Frame(time_s, np.zeros((1, 1, 3)), 0.0, 0.0, 0 if number in starts else 1 + number))
    return backlog


def scored(backlog, times, now):
    for _ in range(times):
        backlog.note_scored(now)
    return backlog


def taken(backlog):
    newest, unseen = backlog.take()
    return newest.time_s, [each.time_s for each in unseen]


def test_three_may_wait_and_are_taken_in_order():
    backlog = waiting(0.0, 1.0, 2.0)
    assert [taken(backlog) for _ in range(3)] == [(0.0, []), (1.0, []), (2.0, [])]
    assert backlog.take() is None and len(backlog) == 0 and backlog.frames_skipped == 0


def test_of_four_the_newest_is_taken_and_the_others_are_handed_out_unseen():
    backlog = waiting(0.0, 1.0, 2.0, 3.0)
    assert taken(backlog) == (3.0, [0.0, 1.0, 2.0])
    assert backlog.frames_skipped == 3 and len(backlog) == 0 and backlog.take() is None


def test_what_waits_of_an_old_sequence_is_forgotten():
    backlog = waiting(*range(8), starts=(0, 5))
    newest, unseen = backlog.take()
    assert newest.time_s == 7 and [each.time_s for each in unseen] == [5, 6]
    assert unseen[0].starts_sequence and backlog.frames_skipped == 7


def test_the_newest_may_itself_begin_a_sequence():
    assert taken(waiting(*range(5), starts=(4,))) == (4, [])


def test_nothing_is_said_before_most_of_three_seconds_is_known():
    tick_s = 1 / 16
    assert Backlog().slow() == ""
    assert waiting(*(tick_s * n for n in range(39))).slow() == ""  # 2.375 s
    assert waiting(*(tick_s * n for n in range(40))).slow() == "computer too slow: scoring 0 of 16 frames a second"
    assert waiting(0.0, 0.8 * 3.0).slow() != ""


@pytest.mark.parametrize(("times", "said"), [(27, ""), (26, "computer too slow: scoring 9 of 10 frames a second")])
def test_nine_of_ten_frames_are_enough(times, said):
    assert scored(waiting(*np.linspace(0.0, 2.5, 26)), times, 2.5).slow() == said


def test_what_is_three_seconds_old_does_not_count():
    came = [7.0, *(7.5 + 0.25 * n for n in range(11))]
    assert scored(waiting(*came), 10, 10.0).slow() == "computer too slow: scoring 3 of 4 frames a second"
    backlog = scored(waiting(*came), 2, 7.0)
    assert scored(backlog, 10, 10.0).slow() != ""
    assert scored(backlog, 1, 10.0).slow() == ""


def test_it_steps_down_once_after_four_slow_seconds_without_a_break():
    backlog = waiting(*(0.1 * n for n in range(200)))
    assert not backlog.should_step_down(20.0)
    for now in (3.0, 5.0, 6.75):
        backlog.note_scored(now)
        assert not backlog.should_step_down(now)
    backlog.note_scored(7.0)
    assert backlog.should_step_down(7.0) and not backlog.should_step_down(7.0)
    backlog.note_scored(8.0)
    assert not backlog.should_step_down(11.75) and backlog.should_step_down(12.0)


def test_a_moment_in_which_it_keeps_up_starts_the_four_seconds_anew():
    backlog = waiting(*np.linspace(0.0, 2.5, 26))
    backlog.note_scored(2.5)
    assert backlog.slow()
    scored(backlog, 26, 2.5)
    assert not backlog.slow() and not backlog.should_step_down(60.0)
