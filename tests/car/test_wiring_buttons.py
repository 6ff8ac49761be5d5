"""Buttons that inject and buttons that mark: who has which, and what a real car refuses."""

from types import SimpleNamespace

import numpy as np
import pytest
from donkeycar.parts.controller import LogitechJoystickController
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.car.wiring import add_aicc
from donkey_aicc.errors import ConfigError


class Part:
    def __init__(self, *values):
        self.values = values

    def run(self, *inputs):
        return self.values or None


class Joystick(LogitechJoystickController):
    """donkeycar's controller; only the device behind it is made up."""

    def init_js(self):
        self.js = self
        return True

    def push(self, *events):
        """(button, 1) down, (button, 0) up: goes through donkeycar's own loop."""
        self.events, self.running = list(events), True
        self.update()

    def poll(self):
        button, state = self.events.pop(0)
        self.running = bool(self.events)
        return button, state, None, None


def make_car(tmp_path, joystick=None, **keys):
    cfg = SimpleNamespace(**{"DATA_PATH": str(tmp_path), "DRIVE_LOOP_HZ": 20, "DONKEY_GYM": False, **keys})
    vehicle = Vehicle()
    vehicle.mem[channels.MODE] = "local"
    vehicle.add(Part(None, 0.1, 0.9), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    if joystick is not None:
        vehicle.add(joystick, outputs=["js/steering", "js/throttle", "js/mode", "js/recording"], threaded=True)
    inputs, types = add_aicc(vehicle, cfg)
    return vehicle, dict(zip(inputs, types, strict=True))


def click(vehicle, button, *names):
    """What the channels hold after the loop that saw the click, and the loop after it."""
    vehicle.mem[f"web/{button}"] = True
    vehicle.update_parts()
    vehicle.mem[f"web/{button}"] = False
    vehicle.update_parts()
    return vehicle.mem.get(list(names))


def test_marks_are_recorded_only_if_a_button_can_set_them(tmp_path):
    assert channels.UNSAFE_MARK not in make_car(tmp_path)[1]
    assert channels.UNSAFE_MARK not in make_car(tmp_path, AICC_MARK_JOYSTICK_BUTTON="L2")[1]
    assert make_car(tmp_path, AICC_MARK_BUTTON="w3")[1][channels.UNSAFE_MARK] == "boolean"
    assert make_car(tmp_path, Joystick(), AICC_MARK_JOYSTICK_BUTTON="L2")[1][channels.UNSAFE_MARK] == "boolean"


def test_the_web_button_that_marks_injects_no_longer(tmp_path):
    vehicle, _ = make_car(tmp_path, DONKEY_GYM=True, AICC_MARK_BUTTON="w3")
    told = (channels.UNSAFE_MARK, channels.INJECT_PROTOCOL)
    assert click(vehicle, "w3", *told) == [True, ""]
    assert click(vehicle, "w4", *told) == [True, "latency"]
    assert click(vehicle, "w3", *told) == [False, "latency"]
    assert click(vehicle, "w5", *told) == [False, ""]


def test_the_controllers_button_marks_while_held(tmp_path):
    joystick = Joystick()
    vehicle, _ = make_car(tmp_path, joystick, AICC_MARK_JOYSTICK_BUTTON="L2")
    seen = []
    for event in (("L2", 1), ("R2", 1), ("L2", 0)):
        joystick.push(event)
        vehicle.update_parts()
        seen.append(vehicle.mem[channels.UNSAFE_MARK])
    assert seen == [True, True, False]
    joystick.push(("L2", 1), ("L2", 0))  # shorter than a tick
    vehicle.update_parts()
    assert vehicle.mem[channels.UNSAFE_MARK]


def test_the_controllers_buttons_arm_inject_and_end_on_a_real_car(tmp_path):
    joystick = Joystick()
    vehicle, _ = make_car(tmp_path, joystick, AICC_INJECT_JOYSTICK_BUTTON="L1", AICC_INJECT_STOP_BUTTON="R1")
    vehicle.parts[0]["part"].values = (np.full((12, 16, 3), 100, np.uint8), 0.1, 0.9)
    seen = []
    for button in ("L2", "L1", "L1", "L1", "L1", "R1", "L1"):
        joystick.push((button, 1), (button, 0))
        vehicle.update_parts()
        seen.append(tuple(vehicle.mem.get([channels.INJECT_PROTOCOL, channels.THROTTLE])))
    assert seen[:4] == [("", 0.9), ("", 0.9), ("dark", 0.9), ("blur", 0.9)]
    assert seen[4][0] == "bias" and seen[4][1] <= 0.5
    assert seen[5:] == [("", 0.9), ("", 0.9)]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"AICC_MARK_BUTTON": "w6"}, "AICC_MARK_BUTTON must be one of w1, w2, w3, w4, w5; got 'w6'"),
        (
            {"AICC_MARK_BUTTON": "w5", "DONKEY_GYM": True},
            "AICC_MARK_BUTTON must be one of w1, w2, w3, w4 while the web buttons inject faults, got 'w5'",
        ),
        (
            {"AICC_MARK_JOYSTICK_BUTTON": "L1", "AICC_INJECT_STOP_BUTTON": "L1"},
            "AICC_INJECT_STOP_BUTTON and AICC_MARK_JOYSTICK_BUTTON must be different buttons, got 'L1'",
        ),
        ({"AICC_INJECT": "dark:1"}, "AICC_INJECT = 'dark:1' could never begin"),
        ({"AICC_INJECT": "dark:1@lap2", "DONKEY_GYM": True}, "AICC_INJECT = 'dark:1@lap2' waits for a lap, and only"),
        (
            {"AICC_INJECT": "dark:1", "AICC_INJECT_JOYSTICK_BUTTON": "L1"},
            "AICC_INJECT_JOYSTICK_BUTTON needs AICC_INJECT_STOP_BUTTON beside it",
        ),
    ],
)
def test_what_could_never_happen_is_refused(tmp_path, keys, words):
    with pytest.raises(ConfigError) as error:
        make_car(tmp_path, Joystick(), **keys)
    assert words in str(error.value)


def test_a_schedule_that_only_an_absent_controller_could_arm_is_refused(tmp_path):
    keys = {"AICC_INJECT_JOYSTICK_BUTTON": "L1", "AICC_INJECT_STOP_BUTTON": "R1"}
    with pytest.raises(ConfigError, match="could never begin"):
        make_car(tmp_path, AICC_INJECT="dark:1", **keys)
    assert channels.INJECT_PROTOCOL not in make_car(tmp_path, **keys)[1]  # without a schedule it is just a drive
    assert channels.INJECT_PROTOCOL in make_car(tmp_path, Joystick(), AICC_INJECT="dark:1", **keys)[1]


def test_w5_may_mark_where_no_web_button_injects(tmp_path):
    vehicle, _ = make_car(tmp_path, AICC_MARK_BUTTON="w5")
    assert click(vehicle, "w5", channels.UNSAFE_MARK) == [True]
