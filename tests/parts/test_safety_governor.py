"""The governor: slows or stops the pilot's car at an alarm, never the user's, never adds throttle."""

import math

import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.parts.safety_governor import CRAWL_SHARE, GovernorPolicy, SafetyGovernor

CRUISE = 0.5
CRAWL = CRAWL_SHARE * CRUISE


def policy(mode="stop", stop_hazard=0.3):
    return GovernorPolicy(mode, cruise=CRUISE, stop_hazard=stop_hazard)


def play(governor, *scenes, throttle=0.45, human=False):
    """scenes: (level, hazard, frames) -> the action after each scene."""
    told = []
    for level, hazard, frames in scenes:
        for _ in range(frames):
            sent, action = governor.step(level, hazard, throttle, human)
            assert sent <= throttle
        told.append(action)
    return told


def test_watch_slows_danger_stops_and_only_the_driver_lets_go():
    governor = policy()
    assert play(governor, ("none", 0.0, 5), ("watch", 0.1, 5), ("danger", 0.9, 1)) == ["full", "slowed", "stopped"]
    assert play(governor, ("none", 0.0, 500)) == ["stopped"]
    governor.confirm()
    assert play(governor, ("danger", 0.9, 10)) == ["stopped"]  # confirmed, but the evidence is still there
    assert play(governor, ("none", 0.0, 2)) == ["full"]


def test_a_confirmation_is_for_one_stop_only():
    governor = policy()
    governor.confirm()  # before there was anything to confirm
    play(governor, ("danger", 0.9, 1), ("none", 0.0, 100))
    assert play(governor, ("none", 0.0, 1)) == ["stopped"]
    governor.confirm()
    play(governor, ("none", 0.0, 1), ("danger", 0.9, 1))
    assert play(governor, ("none", 0.0, 100)) == ["stopped"]


def test_danger_with_little_hazard_is_a_crawl_until_the_hazard_rises():
    governor = policy()
    assert play(governor, ("danger", 0.1, 50), ("danger", 0.31, 1)) == ["slowed", "stopped"]


def test_without_a_hazard_model_every_danger_is_a_stop():
    assert play(GovernorPolicy("stop", cruise=CRUISE), ("danger", 0.0, 1)) == ["stopped"]


def test_a_crawl_lasts_a_second_longer_than_its_evidence():
    governor = policy("slow")
    assert play(governor, ("danger", 1.0, 1), ("none", 0.0, 20)) == ["slowed", "slowed"]  # at 20 frames a second
    assert play(governor, ("none", 0.0, 1)) == ["full"]
    assert governor.step("watch", 0.0, 0.45, False) == (CRAWL, "slowed")


def test_braking_reversing_and_a_slower_pilot_pass():
    governor = policy()
    assert governor.step("watch", 0.0, 0.1, False)[0] == 0.1
    for throttle in (-0.4, 0.0):
        assert governor.step("danger", 1.0, throttle, False)[0] == throttle


def test_advise_touches_nothing_and_off_says_nothing():
    governor = policy("advise")
    assert governor.step("watch", 0.0, 0.4, False) == (0.4, "would slow")
    assert governor.step("danger", 1.0, 0.4, False) == (0.4, "would stop")
    governor.set_mode("off")
    assert governor.step("danger", 1.0, 0.4, False) == (0.4, "off")
    with pytest.raises(ConfigError, match="governor mode must be one of"):
        governor.set_mode("go")
    with pytest.raises(ConfigError, match="cruise"):
        GovernorPolicy("stop", cruise=math.nan)


def test_the_user_keeps_the_throttle_and_handing_back_is_a_confirmation():
    governor = policy()
    play(governor, ("danger", 1.0, 3))
    assert play(governor, ("danger", 1.0, 3), human=True) == ["off"]
    assert play(governor, ("none", 0.0, 1)) == ["full"]
    play(governor, ("danger", 1.0, 1), human=True)
    assert play(governor, ("danger", 1.0, 1)) == ["stopped"]  # handed back too early


def test_the_part_reads_steps_and_publishes():
    governor = SafetyGovernor(policy(), horizons=(1, 20, 50))
    assert governor.modes == ("off", "advise", "slow", "stop") and governor.mode == "stop"
    assert governor.run("none", [0.0, 0.9, 1.0], 0.4, "local") == (0.4, "full")
    assert governor.run("danger", [0.0, 0.1, 1.0], 0.4, "local") == (CRAWL, "slowed")
    for mode in ("user", "local_angle", None):
        assert governor.run("danger", [1.0, 1.0, 1.0], 0.4, mode) == (0.4, "off")
    assert governor.run("danger", [], 0.4, "local") == (0.0, "stopped")  # an unknown hazard counts as certain
    governor.confirm()
    assert governor.run("none", [0.0] * 3, 0.4, "local") == (0.4, "full")
    assert governor.run(None, None, 0.4, "local") == (CRAWL, "slowed")
    governor.set_mode("off")
    assert governor.run("danger", [1.0] * 3, 0.4, "local") == (0.4, "off")


@pytest.mark.parametrize(
    "hazard", [[0.0, 0.9, 0.0], [0.0], [0.0, None, 0.0], [0.0, "low", 0.0], [0.0, math.nan, 0.0], "high", None]
)
def test_the_hazard_within_a_second_counts_and_an_unknown_one_is_certain(hazard, caplog):
    assert SafetyGovernor(policy(), horizons=(1, 20, 50)).run("danger", hazard, 0.4, "local") == (0.0, "stopped")
    assert not caplog.records  # known without a failure


def test_a_governor_that_fails_cuts_the_throttle_and_lets_the_car_brake(monkeypatch):
    governor = SafetyGovernor(broken := policy())
    monkeypatch.setattr(broken, "step", lambda *_: 1 / 0)
    assert governor.run("none", [], 0.4, "local") == (0.0, "stopped") and governor.run("none", [], -0.3, "local") == (
        -0.3,
        "stopped",
    )


@pytest.mark.parametrize("throttle", [None, "fast", math.nan, True])
def test_a_throttle_that_is_no_number_is_none(throttle):
    assert SafetyGovernor(policy()).run("none", [], throttle, "local") == (0.0, "full")
