"""DepartureAlarm in the loop: what it says when the monitor itself is in trouble, and that it never raises."""

import json

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import fit_alarm
from donkey_aicc.alarm.signs import SIGN_NAMES
from donkey_aicc.parts import states
from donkey_aicc.parts.departure_alarm import DepartureAlarm
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.alarm.alarm_tables import alarm_table


@pytest.fixture(scope="module")
def model():
    nominal = alarm_table(np.random.default_rng(0), 6)
    driven = alarm_table(np.random.default_rng(1), dark=(100, 300), departs_after=60, prefix="driven")
    return fit_alarm(nominal, ScoreStatistics.fit(nominal), driven=driven)


@pytest.fixture
def alarm(model):
    return DepartureAlarm(model, (1, 5, 20))


def signs(model, **changes):
    values = dict(zip(SIGN_NAMES, model.scales.middle.tolist(), strict=True))
    return [value if np.isfinite(value) else None for value in (values | changes).values()]


def told(alarm, *inputs, frames=5):
    for _ in range(frames):
        hazard, level, reason = alarm.run(*inputs)
    json.dumps(hazard, allow_nan=False)
    return level, reason


P = [0.9, 0.8, 0.7]


def test_dark_then_a_false_alarm(alarm, model):
    assert told(alarm, signs(model), P, {"tta_spread": 0.1}, states.OK, 0.05) == ("none", "")
    dark = signs(model, light=-9.0)
    assert told(alarm, dark, P, {}, states.OK, 0.05) == ("danger", "the picture is much darker than in training")
    alarm.false_alarm()
    assert alarm.run(signs(model), P, {}, states.OK, 0.05)[1] == "none"


def test_warming_up_is_no_alarm(alarm):
    for state in (states.WARMING_UP, states.NO_IMAGE, states.NO_SCORES, None):
        assert told(alarm, None, [], {}, state, 3.0) == ("none", "")


@pytest.mark.parametrize(
    ("state", "age_s", "expected"),
    [
        (states.NO_IMAGE, 0.1, ("danger", "no picture")),
        (states.FROZEN, 0.1, ("danger", "the camera is frozen")),
        (states.SCORER_DOWN, 0.1, ("watch", "the monitor is down")),
        (states.OK, 9.0, ("watch", "the monitor cannot keep up")),
        (states.WARMING_UP, 0.1, ("none", "")),
    ],
)
def test_trouble_of_the_monitor_itself(alarm, model, state, age_s, expected):
    calm = signs(model)
    told(alarm, calm, P, {}, states.OK, 0.05)
    assert alarm.run(calm, P, {}, state, age_s)[1] != "danger"  # not by one frame
    assert told(alarm, calm, P, {}, state, age_s) == expected
    assert told(alarm, calm, P, {}, states.OK, 0.05) == ("none", "")


def test_blind_from_the_third_frame_old_beyond_a_second_and_a_half_and_a_new_sequence_begins_calm(alarm, model):
    calm = signs(model)
    assert [alarm.run(calm, P, {}, states.OK, age_s)[1] for age_s in (0.05, 1.5, 1.51)] == ["none", "none", "watch"]
    assert [alarm.run(calm, P, {}, states.NO_IMAGE, 0.1)[1] for _ in range(4)] == ["none", "none", "danger", "danger"]
    alarm.reset()
    assert [alarm.run(None, [], {}, states.NO_IMAGE, 9.0)[1] for _ in range(4)] == ["none"] * 4


def test_nothing_makes_it_raise(alarm):
    for rubbish in ((["x"] * len(SIGN_NAMES), "p", 3, 4, "old"), ([1.0], None, None, 7, None), (object(), object())):
        assert alarm.run(*rubbish)[1] in ("none", "watch")
