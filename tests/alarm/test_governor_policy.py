"""The governor's policy: slows or stops the pilot's car at an alarm, never the user's, never adds throttle."""

import math

import pytest

from donkey_aicc.alarm.brake import SIMULATED
from donkey_aicc.alarm.governor_policy import CRAWL_SHARE, GovernorPolicy
from donkey_aicc.alarm.timing import tick_clock
from donkey_aicc.errors import ConfigError

CRUISE, RATE_HZ = 0.5, 20
CRAWL = CRAWL_SHARE * CRUISE


def policy(mode="stop", stop_hazard=0.3, rate_hz=RATE_HZ):
    return GovernorPolicy(mode, cruise=CRUISE, stop_hazard=stop_hazard, clock=tick_clock(rate_hz))


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
    assert governor.confirm()
    assert play(governor, ("none", 0.0, 2)) == ["full"]


def test_a_confirmation_counts_only_after_the_evidence_has_gone():
    """Pressed once during ten minutes of danger, it let the car go with the first quiet frame."""
    governor = policy()
    play(governor, ("danger", 0.9, 10))
    assert not governor.confirm()
    assert play(governor, ("danger", 0.9, 10), ("none", 0.0, 100)) == ["stopped", "stopped"]
    assert governor.confirm()
    assert play(governor, ("none", 0.0, 1)) == ["full"]


def test_a_confirmation_is_for_one_stop_only():
    governor = policy()
    assert not governor.confirm()  # before there was anything to confirm
    play(governor, ("danger", 0.9, 1), ("none", 0.0, 100))
    assert play(governor, ("none", 0.0, 1)) == ["stopped"]
    assert governor.confirm() and not governor.confirm()
    play(governor, ("none", 0.0, 1), ("danger", 0.9, 1))
    assert play(governor, ("none", 0.0, 100)) == ["stopped"]


def test_danger_with_little_hazard_is_a_crawl_until_the_hazard_rises():
    governor = policy()
    assert play(governor, ("danger", 0.1, 50), ("danger", 0.31, 1)) == ["slowed", "stopped"]


def test_without_a_hazard_model_every_danger_is_a_stop():
    assert play(GovernorPolicy("stop", cruise=CRUISE), ("danger", 0.0, 1)) == ["stopped"]


@pytest.mark.parametrize("rate_hz", [10, 20, 60])
def test_a_crawl_lasts_a_second_longer_than_its_evidence_at_every_rate(rate_hz):
    governor = policy("slow", rate_hz=rate_hz)
    assert play(governor, ("danger", 1.0, 1), ("none", 0.0, rate_hz - 1)) == ["slowed", "slowed"]
    assert play(governor, ("none", 0.0, 2)) == ["full"]
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


def test_the_mode_that_it_has_already_does_not_end_a_stop():
    governor = policy()
    play(governor, ("danger", 1.0, 1))
    governor.set_mode("stop")
    assert play(governor, ("none", 0.0, 50)) == ["stopped"]
    governor.set_mode("advise")  # a person says "I know"
    assert play(governor, ("none", 0.0, 1)) == ["full"]


def test_the_user_keeps_the_throttle_and_handing_back_is_a_confirmation():
    governor = policy()
    play(governor, ("danger", 1.0, 3))
    assert play(governor, ("danger", 1.0, 3), human=True) == ["off"]
    assert play(governor, ("none", 0.0, 1)) == ["full"]
    play(governor, ("danger", 1.0, 1), human=True)
    assert play(governor, ("danger", 1.0, 1)) == ["stopped"]  # handed back too early


@pytest.mark.parametrize("mode", ["slow", "stop"])
def test_a_mode_that_acts_holds_the_pilot_until_the_monitor_was_healthy_once(mode):
    governor = policy(mode)
    for throttle, sent in ((0.4, 0.0), (-0.4, -0.4)):
        assert governor.step("none", 0.0, throttle, False, health="waiting: the first pictures come in") == (sent, "waiting")
    assert governor.step("danger", 1.0, 0.4, False, health="waiting: the first pictures come in") == (0.0, "waiting")
    assert governor.step("none", 0.0, 0.4, True, health="waiting: the first pictures come in") == (0.4, "off")
    assert governor.step("none", 0.0, 0.4, False, health="ok") == (0.4, "full"), "no stop is left from the wait"
    assert governor.step("none", 0.0, 0.4, False, health="waiting: the first pictures come in") == (0.4, "full")


def test_advise_holds_nobody_and_a_mode_that_is_chosen_later_waits_too():
    governor = policy("advise")
    assert governor.step("none", 0.0, 0.4, False, health="waiting: the first pictures come in") == (0.4, "full")
    governor.set_mode("stop")
    assert governor.step("none", 0.0, 0.4, False, health="waiting: the first pictures come in") == (0.0, "waiting")


def braking(mode="stop"):
    return GovernorPolicy(mode, cruise=CRUISE, stop_hazard=0.3, brake=SIMULATED, clock=tick_clock(RATE_HZ))


def stopping(governor, speeds, throttle=0.45):
    return [governor.step("danger", 1.0, throttle, False, speed_mps=speed) for speed in speeds]


def test_a_stop_brakes_to_standstill_and_then_holds_neutral_whatever_the_pilot_sends():
    governor = braking()
    assert governor.step("none", 0.0, 0.45, False) == (0.45, "full")
    assert [sent for sent, _ in stopping(governor, (1.2, 1.15, 1.0, 0.4))] == [-0.8, -0.8, -0.8, 0.0]
    for throttle in (0.45, -1.0):
        assert governor.step("danger", 1.0, throttle, False, speed_mps=0.0) == (0.0, "stopped")


def test_a_person_who_takes_over_has_the_throttle_in_that_tick_and_the_next_stop_brakes_again():
    governor = braking()
    assert stopping(governor, (1.2,)) == [(-0.8, "stopped")]
    assert governor.step("danger", 1.0, 0.3, True, speed_mps=1.1) == (0.3, "off")
    assert stopping(governor, (1.1,)) == [(-0.8, "stopped")]


def test_a_blind_monitor_is_a_stop_however_small_the_hazard_was_and_a_sign_alone_is_a_crawl():
    for health, action in (("ok", "slowed"), ("blind: no picture for 0.3 s", "stopped")):
        governor = policy()
        governor.step("none", 0.0, 0.45, False)
        told = [governor.step("danger", 0.1, 0.45, False, health=health)[1] for _ in range(3)]
        assert told == ["slowed", "slowed", action], "a blindness of one tick, such as the end of a short freeze, is over"


def test_a_car_that_can_brake_tries_the_crawl_first_and_stops_when_it_does_not_help():
    coasting, able = (
        policy(stop_hazard=0.1),
        GovernorPolicy("stop", cruise=CRUISE, stop_hazard=0.1, brake=SIMULATED, clock=tick_clock(RATE_HZ)),
    )
    assert play(coasting, ("danger", 0.2, 1)) == ["stopped"]
    assert play(able, ("danger", 0.2, 5), ("danger", 0.05, 200), ("danger", 0.2, 150)) == ["slowed"] * 3
    assert play(able, ("danger", 0.2, 30)) == ["stopped"], "eight seconds of it in a row"
    able.set_mode("slow")
    able.set_mode("stop")
    assert play(able, ("danger", 0.31, 1)) == ["stopped"]


def test_advise_and_slow_never_brake():
    for mode in ("advise", "slow"):
        assert min(sent for sent, _ in stopping(braking(mode), (1.2, 1.1, 0.9))) > 0.0
