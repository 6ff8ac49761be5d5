"""Arming, buttons and the limits that keep injection safe on a real car."""

import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.fault import Episode, parse_schedule
from donkey_aicc.parts.injection_control import InjectionButtons, InjectionControl


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def real_car(schedule=None, arm_s=30.0):
    clock = Clock()
    return InjectionControl(parse_schedule(schedule), rate_hz=10, arm_s=arm_s, clock=clock), clock


def names(control, mode="local", lap=None):
    return [fault.protocol for fault in control.advance(mode, lap)]


def test_real_car_is_disarmed_until_armed_and_ends_by_itself():
    control, clock = real_car("dark:3")
    assert not control.armed and names(control) == []
    control.arm()
    assert names(control) == ["dark"]
    clock.now = 29.9
    assert names(control) == ["dark"]
    clock.now = 30.0
    assert not control.armed and control.active("local") == () and names(control) == []


def test_half_a_second_is_long_enough_to_arm_for():
    control, clock = real_car("dark:3", arm_s=0.5)
    control.arm()
    clock.now = 0.4
    assert control.armed


def test_schedule_counts_from_the_arming():
    control, _ = real_car("dark:3@0.2s-0.4s")
    for _ in range(50):
        names(control)
    control.arm()
    assert [names(control) for _ in range(5)] == [[], [], ["dark"], ["dark"], []]


def test_simulator_is_armed_from_the_start():
    assert names(InjectionControl(parse_schedule("blur:1"))) == ["blur"]


def test_lap_schedule_follows_the_lap_counter():
    control = InjectionControl(parse_schedule("blur:1@lap2"))
    assert [names(control, lap=lap) for lap in (None, 1, 2, 3)] == [[], [], ["blur"], []]


def test_first_press_arms_second_injects_third_ends():
    control, _ = real_car()
    seen = []
    for _ in range(4):
        control.press("bias")
        seen.append(names(control))
    assert seen == [[], ["bias"], [], ["bias"]]
    control.press("stop")
    assert control.active("local") == () and names(control) == [] and not control.armed


def test_in_a_simulator_stop_ends_the_schedule_and_buttons_go_on():
    control = InjectionControl(parse_schedule("dark:3"))
    assert names(control) == ["dark"]
    control.press("stop")
    assert names(control) == []
    control.press("blur")
    assert names(control) == ["blur"]
    control.press("stop")
    control.cycle()
    assert [fault.severity for fault in control.advance("local")] == [control.button_severity]
    control.shutdown()
    control.press("blur")
    control.cycle()
    assert names(control) == []


def test_button_wins_over_the_schedule_and_protocols_combine():
    control = InjectionControl(parse_schedule("dark:1,blur:2"), button_severity=5)
    control.press("dark")
    assert sorted((fault.protocol, fault.severity) for fault in control.advance("local")) == [("blur", 2), ("dark", 5)]


def test_later_entry_of_the_schedule_wins():
    control = InjectionControl(parse_schedule("dark:1,dark:5@1-2ticks"))
    assert [control.advance("local")[0].severity for _ in range(3)] == [1, 5, 1]


def test_user_mode_ends_faults_and_unknown_mode_counts_as_user():
    control = InjectionControl(parse_schedule("dark:1"))
    assert [names(control, mode) for mode in (None, "user", "local", "local_angle", "user")] == [[], [], ["dark"], ["dark"], []]


def test_one_joystick_button_goes_through_all_protocols():
    control, _ = real_car()
    seen = []
    for _ in range(7):
        control.cycle()
        seen.append(names(control))
    assert seen == [[], ["dark"], ["blur"], ["bias"], ["latency"], [], ["dark"]]


def test_web_buttons_count_once_however_long_they_are_held():
    control = InjectionControl()
    buttons = InjectionButtons(control)
    buttons.run(None, True, False, None, None)
    buttons.run(None, True, False, None, None)
    assert names(control) == ["blur"]
    buttons.run(None, False, True, None, None)
    assert names(control) == ["blur", "bias"]
    buttons.run(None, None, None, None, True)
    assert names(control) == []


def test_faults_keep_their_state_while_others_come_and_go():
    control = InjectionControl(parse_schedule("bias:1,dark:1@1-2ticks"))
    first = control.advance("local")[0]
    assert control.advance("local")[0] is first and control.advance("local")[0] is first


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"arm_s": 0}, "arm_s must be > 0 seconds, got 0"),
        ({"button_severity": 9}, "severity of .* must be one of 1, 2, 3, 4, 5; got 9"),
        ({"overrides": {"smoke": {}}}, "fault must be one of dark, blur, bias, latency, .*; got 'smoke'"),
        ({"schedule": (Episode("grip", 3),)}, "grip acts on the car itself and works in the embedded simulator only"),
        ({"overrides": {"dark": {"sigma_px": 1}}}, "parameter of dark must be one of luminance_factor; got 'sigma_px'"),
        ({"rate_hz": 0}, "rate_hz must be > 0, got 0"),
    ],
)
def test_mistakes_are_found_before_the_drive(settings, words):
    with pytest.raises(ConfigError, match=words):
        InjectionControl(**settings)


def test_unknown_button_is_named():
    with pytest.raises(ConfigError, match="injection buttons must be among .*; got 'smoke'"):
        InjectionButtons(InjectionControl(), ["smoke"])


def test_faults_of_the_car_itself_need_a_simulated_car():
    with pytest.raises(ConfigError, match="drag acts on the car itself"):
        InjectionControl().inject("drag", 3)
    control = InjectionControl(physical=True)
    control.inject("drag", 3)
    control.inject("fog", 2)
    assert {fault.protocol for fault in control.advance("local")} == {"drag", "fog"}


def test_a_fault_asked_for_in_user_mode_waits_for_the_pilot_and_lapses(caplog):
    clock = Clock()
    control = InjectionControl(clock=clock)
    control.inject("dark", 3)
    assert names(control, "user") == [] and control.asked_for == ("dark",)
    assert "dark waits for pilot mode" in caplog.text
    clock.now = 9.0
    assert names(control, "user") == [] and names(control, "local") == ["dark"]
    assert names(control, "user") == [] and control.asked_for == ("dark",)
    clock.now = 19.5
    assert names(control, "user") == [] and control.asked_for == ()
    assert "dark was not begun" in caplog.text
    assert names(control, "local") == []
