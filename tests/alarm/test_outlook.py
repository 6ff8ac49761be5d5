"""The number for the driver: a probability of staying in the lane, bounded by the alarm; and the state in words."""

import numpy as np
import pytest

from donkey_aicc.alarm.outlook import (
    BAD,
    BLIND,
    CAREFUL,
    MOST,
    WELL,
    SteadyState,
    advice_of,
    missing_dial,
    outlook,
    outlook_now,
    state_of,
)
from donkey_aicc.parts.driver_outlook import DriverOutlook

HAZARD = [0.01, 0.02, 0.3]


def test_it_is_what_the_hazard_leaves_and_never_more_than_the_alarm_allows():
    assert outlook_now("none", "ok", HAZARD, None) == pytest.approx([0.99, 0.98, 0.7])
    assert outlook_now("watch", "ok", HAZARD, None) == pytest.approx([0.9, 0.9, 0.7])
    assert outlook_now("danger", "ok", HAZARD, None) == [0.5, 0.5, 0.5]
    assert outlook_now("nonsense", "ok", HAZARD, None)[0] == MOST["watch"]  # not knowing is no reason for trust


def test_where_labels_mean_on_the_road_it_is_the_least_confidence_up_to_then():
    assert outlook_now("none", "", None, [0.9, 0.6, 0.95]) == [0.9, 0.6, 0.6]


@pytest.mark.parametrize("health", ["blind: no picture for 2 s", "waiting: no frame yet"])
def test_who_sees_nothing_names_no_number(health):
    assert outlook_now("danger", health, HAZARD, None) == []


@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.1, float("inf")])
def test_what_is_no_probability_is_no_number(value):
    assert outlook_now("none", "ok", [0.1, value], None) == []
    assert outlook_now("none", "ok", [], None) == [] and outlook_now("none", "ok", None, [value]) == []


def test_over_a_table_it_is_the_same_as_tick_by_tick():
    rng = np.random.default_rng(0)
    hazard, levels = rng.uniform(0, 1, (40, 3)), rng.choice(["none", "watch", "danger"], 40)
    ticks = [outlook_now(level, "ok", row.tolist(), None) for level, row in zip(levels, hazard, strict=True)]
    np.testing.assert_array_equal(outlook(levels, hazard, None), ticks)
    assert (np.diff(ticks, axis=1) <= 0).all()  # staying longer is never surer


@pytest.mark.parametrize(
    ("level", "health", "action", "state"),
    [
        ("none", "ok", "full", WELL),
        ("watch", "ok", "slowed", CAREFUL),
        ("danger", "ok", "stopped", BAD),
        ("danger", "blind: no picture", "stopped", BLIND),
        ("none", "doubtful: half of the frames", "full", CAREFUL),
        ("none", "ok", "stopped", CAREFUL),  # a held car is never well
        ("none", "waiting: no frame yet", "waiting", CAREFUL),
        ("", "", "", ""),  # no alarm: nothing is claimed
    ],
)
def test_one_state(level, health, action, state):
    assert state_of(level, health, action) == state


def test_a_held_car_says_what_to_do():
    assert "Let it go on" in advice_of("stopped", "danger") and "the reason is gone" in advice_of("stopped", "none")
    assert "advise for this drive" in advice_of("waiting") and advice_of("full") == ""


def test_without_a_number_the_page_says_what_is_missing():
    assert missing_dial(True, False, True) == missing_dial(False, True, True) == ""
    assert "--driven" in missing_dial(False, False, True) and "without labels" in missing_dial(False, False, False)


def test_the_part_tells_each_change_once_and_survives_anything(caplog):
    part = DriverOutlook(on_the_road=False)
    with caplog.at_level("INFO"):
        for level in ("none", "none", "danger", "danger"):
            told = part.run(level, "it is dark" if level == "danger" else "", HAZARD, [0.4] * 3, "ok", "full")
    assert [record.getMessage() for record in caplog.records] == ["All well", "Danger: it is dark"]
    assert told == ([0.5] * 3, BAD, "")
    assert part.run("danger", "", object(), object(), object(), object())[1] in (BAD, "")
    assert DriverOutlook(on_the_road=True).run("none", "", [], [0.8, 0.7])[0] == [0.8, 0.7]


def test_a_state_gets_worse_at_once_and_better_only_after_calm_seconds():
    steady = SteadyState()
    told = [
        steady.step(state, at) for at, state in ((0.0, WELL), (0.1, BAD), (0.2, WELL), (1.0, CAREFUL), (1.5, WELL), (1.7, WELL))
    ]
    assert told == [WELL, BAD, BAD, BAD, BAD, WELL]
    assert steady.step(BLIND, 1.8) == BLIND and steady.step("", 1.9) == ""  # without an alarm nothing is claimed
