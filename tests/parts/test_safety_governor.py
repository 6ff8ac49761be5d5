"""The governor slows the pilot down, never the user."""

import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.parts.safety_governor import SafetyGovernor


@pytest.mark.parametrize(
    ("confidence", "throttle", "action"),
    [
        ([0.9, 0.7], 0.5, "full"),
        ([0.9, 0.4], 0.25, "slowed"),
        ([0.9, 0.1], 0.0, "stopped"),
        ([], 0.0, "stopped"),
        (None, 0.0, "stopped"),
        ([0.9, float("nan")], 0.0, "stopped"),
    ],
)
def test_the_least_confidence_decides(confidence, throttle, action):
    sent, told = SafetyGovernor(stop_at=0.2, full_at=0.6).run(confidence, 0.5, "local")
    assert sent == pytest.approx(throttle) and told == action


@pytest.mark.parametrize("mode", ["user", "local_angle", None])
def test_the_user_keeps_the_throttle(mode):
    assert SafetyGovernor().run([0.0], 0.5, mode) == (0.5, "off")


def test_braking_is_never_weakened():
    assert SafetyGovernor().run([0.0], -0.4, "local") == (-0.4, "full")


def test_mode_switches_take_effect_in_the_same_tick():
    governor = SafetyGovernor()
    modes = ["user", "local", "user", "local"]
    assert [governor.run([0.0], 0.5, mode)[1] for mode in modes] == ["off", "stopped", "off", "stopped"]


def test_only_horizons_up_to_the_chosen_one_count():
    governor = SafetyGovernor(horizons=(1, 5, 10), horizon=5)
    assert governor.run([0.9, 0.8, 0.0], 0.5, "local") == (0.5, "full")


def test_no_throttle_yet_is_none():
    assert SafetyGovernor().run([0.9], None, "local")[0] == 0.0


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="0 <= stop_at < full_at <= 1, got stop_at 0.7 and full_at 0.6"):
        SafetyGovernor(stop_at=0.7)
    with pytest.raises(ConfigError, match="governor horizon must be one of 1, 5; got 7"):
        SafetyGovernor(horizons=(1, 5), horizon=7)
