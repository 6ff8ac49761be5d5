"""The governor as a part of the car: it reads channels, steps its policy and publishes."""

import math

import pytest

from donkey_aicc.alarm.governor_policy import CRAWL_SHARE, GovernorPolicy
from donkey_aicc.parts.safety_governor import SafetyGovernor

CRUISE = 0.5
CRAWL = CRAWL_SHARE * CRUISE


def policy(mode="stop"):
    return GovernorPolicy(mode, cruise=CRUISE, stop_hazard=0.3)


def test_the_part_reads_steps_and_publishes():
    governor = SafetyGovernor(policy(), horizons=(1, 20, 50))
    assert governor.modes == ("off", "advise", "slow", "stop") and governor.mode == "stop"
    assert governor.run("none", [0.0, 0.9, 1.0], 0.4, "local", "ok") == (0.4, "full")
    assert governor.run("danger", [0.0, 0.1, 1.0], 0.4, "local", "ok") == (CRAWL, "slowed")
    for mode in ("user", "local_angle", None):
        assert governor.run("danger", [1.0, 1.0, 1.0], 0.4, mode) == (0.4, "off")
    assert governor.run("danger", [], 0.4, "local", "ok") == (0.0, "stopped")  # an unknown hazard counts as certain
    assert not governor.confirm()
    assert governor.run("none", [0.0] * 3, 0.4, "local", "ok") == (0.0, "stopped")
    assert governor.confirm()
    assert governor.run("none", [0.0] * 3, 0.4, "local", "ok") == (0.4, "full")
    assert governor.run(None, None, 0.4, "local", "ok") == (CRAWL, "slowed")
    governor.set_mode("off")
    assert governor.run("danger", [1.0] * 3, 0.4, "local", "ok") == (0.4, "off")


@pytest.mark.parametrize(
    "hazard",
    [[0.0, 0.9, 0.0], [0.0], [0.0, None, 0.0], [0.0, "low", 0.0], [0.0, math.nan, 0.0], "high", None]
    + [[0.0, -0.1, 0.0], [0.0, 1.1, 0.0], [0.0, -math.inf, 0.0]],
)
def test_the_hazard_within_a_second_counts_and_one_that_is_no_probability_is_certain(hazard, caplog):
    assert SafetyGovernor(policy(), horizons=(1, 20, 50)).run("danger", hazard, 0.4, "local", "ok") == (0.0, "stopped")
    assert not caplog.records  # known without a failure


def test_a_governor_that_fails_cuts_the_throttle_and_lets_the_car_brake(monkeypatch):
    governor = SafetyGovernor(broken := policy())
    monkeypatch.setattr(broken, "step", lambda *_: 1 / 0)
    assert governor.run("none", [], 0.4, "local", "ok") == (0.0, "stopped")
    assert governor.run("none", [], -0.3, "local", "ok") == (-0.3, "stopped")


@pytest.mark.parametrize(("mode", "drives"), [("stop", "user"), ("slow", "local_angle"), ("off", "local"), ("advise", "local")])
def test_a_governor_that_fails_leaves_alone_what_was_not_its_own(mode, drives, monkeypatch):
    governor = SafetyGovernor(broken := policy(mode))
    monkeypatch.setattr(broken, "step", lambda *_: 1 / 0)
    assert governor.run("danger", [1.0], 0.4, drives) == (0.4, "off")


@pytest.mark.parametrize("throttle", [None, "fast", math.nan, True])
def test_a_throttle_that_is_no_number_is_none(throttle):
    assert SafetyGovernor(policy()).run("none", [], throttle, "local", "ok") == (0.0, "full")


def test_the_pilot_waits_until_the_monitor_has_seen_something_and_the_user_never(monkeypatch):
    governor = SafetyGovernor(policy(), horizons=(1, 20, 50))
    for health in (None, "waiting: the first pictures come in", "doubtful: late", "blind: no picture yet"):
        assert governor.run("none", [0.0] * 3, 0.4, "local", health) == (0.0, "waiting")
        assert governor.run("danger", [1.0] * 3, 0.4, "user", health) == (0.4, "off")
    assert governor.run("none", [0.0] * 3, 0.4, "local", "ok") == (0.4, "full")
    assert governor.run("none", [0.0] * 3, 0.4, "local", "doubtful: late") == (0.4, "full"), "from now on the alarm decides"
    governor.shutdown()
    assert governor.run("none", [0.0] * 3, 0.4, "local") == (0.0, "waiting"), "another drive"
