"""add_aicc: where it puts our parts, what it adds to the tub, and what it refuses before the car moves."""

from types import SimpleNamespace

import pytest
from donkeycar.parts.tub_v2 import Tub
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.car import start_checks
from donkey_aicc.car import template as car
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.wiring import add_aicc
from donkey_aicc.errors import AiccError, ConfigError


class Part:
    def run(self, *inputs):
        return None


def settings(tmp_path, **changes):
    defaults = {"DATA_PATH": str(tmp_path), "IMAGE_W": 160, "IMAGE_H": 120, "IMAGE_DEPTH": 3, "DRIVE_LOOP_HZ": 20}
    return SimpleNamespace(**{**defaults, "DONKEY_GYM": False, **changes})


def a_car():
    vehicle = Vehicle()
    vehicle.add(Part(), outputs=["cam/image_array"])
    vehicle.add(Part(), outputs=["steering", "throttle"])
    return vehicle


def test_the_sent_command_goes_to_the_tub_once(tmp_path):
    cfg = settings(tmp_path, AICC_BUNDLE="off")
    given = ["cam/image_array", "user/mode"], ["image_array", "str"]
    inputs, types = add_aicc(a_car(), cfg, *given)
    assert inputs == ["cam/image_array", "user/mode", "steering", "throttle"]
    assert types == ["image_array", "str", "float", "float"]
    assert given == (["cam/image_array", "user/mode"], ["image_array", "str"])
    assert add_aicc(a_car(), cfg, inputs, types) == (inputs, types)
    assert add_aicc(a_car(), cfg) == (["steering", "throttle"], ["float", "float"])  # a car without a tub


def test_the_simulator_is_camera_and_location(tmp_path):
    cfg = settings(tmp_path, AICC_SIM=True, AICC_SIM_TRACK="oval", IMAGE_W=80, IMAGE_H=60)
    V = Vehicle()
    simulator = car.add_embedded_simulator(V, cfg, AiccConfig.from_donkey(cfg))
    V.mem["steering"], V.mem["throttle"] = 0.0, 0.5
    for _ in range(20):
        V.update_parts()
    assert simulator.world.track.name == "oval"
    assert V.mem[channels.IMAGE].shape == (60, 80, 3)
    assert V.mem[channels.SPEED] > 0.1
    assert (V.mem[channels.LAP], V.mem[channels.HIT]) == (1, False)
    V.add(Part(), outputs=["steering", "throttle"])
    inputs, types = add_aicc(V, cfg)
    assert {*channels.LOCATION, channels.LAP, channels.HIT, "steering", "throttle"} <= set(inputs)
    assert len(inputs) == len(types)


def test_a_simulator_that_is_not_wired_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="AICC_SIM = True works in a car made by donkey-aicc createcar"):
        add_aicc(a_car(), settings(tmp_path, AICC_SIM=True))


def test_our_keys_are_checked(tmp_path):
    with pytest.raises(ConfigError, match="unknown setting AICC_SPEED"):
        add_aicc(a_car(), settings(tmp_path, AICC_SPEED=1))


@pytest.mark.parametrize("missing", ["cam/image_array", "steering", "throttle"])
def test_a_vehicle_without_camera_or_commands_is_refused(tmp_path, missing):
    vehicle = Vehicle()
    for name in {"cam/image_array", "steering", "throttle"} - {missing}:
        vehicle.add(Part(), outputs=[name])
    with pytest.raises(AiccError, match=f"no part of the vehicle outputs {missing}: call add_aicc after camera"):
        add_aicc(vehicle, settings(tmp_path))


def test_two_simulators_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="must not both be True"):
        cfg = settings(tmp_path, AICC_SIM=True, DONKEY_GYM=True)
        car.add_embedded_simulator(Vehicle(), cfg, AiccConfig.from_donkey(cfg))


def test_a_tub_with_other_channels_is_refused_in_words(tmp_path):
    old = Tub(str(tmp_path), inputs=["user/mode"], types=["str"])
    old.write_record({"user/mode": "user"})
    old.close()
    with pytest.raises(AiccError, match="recorded with other channels.*AUTO_CREATE_NEW_TUB"):
        add_aicc(a_car(), settings(tmp_path), ["cam/image_array"], ["image_array"])
    add_aicc(a_car(), settings(tmp_path, AUTO_CREATE_NEW_TUB=True), ["cam/image_array"], ["image_array"])


def test_settings_may_change_while_the_tub_is_still_empty(tmp_path):
    Tub(str(tmp_path), inputs=["user/mode"], types=["str"]).close()
    (tmp_path / "notes.txt").write_text("mine")
    inputs, types = add_aicc(a_car(), settings(tmp_path), ["cam/image_array"], ["image_array"])
    Tub(str(tmp_path), inputs=inputs, types=types).close()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_car_that_calls_its_steering_angle(tmp_path):
    """As donkeycar's templates basic and simulator do: faults act on what the motors get, and `angle` is the same."""

    class Mode(Part):
        def run(self, *inputs):
            return 0.2, 0.3

    class Servo(Part):
        def run(self, angle):
            self.got = angle

    V, servo = Vehicle(), Servo()
    V.add(Part(), inputs=["angle", "throttle"], outputs=["cam/image_array"])
    V.add(Mode(), outputs=["angle", "throttle"])
    V.add(servo, inputs=["angle"])
    inputs, _ = add_aicc(V, settings(tmp_path, DONKEY_GYM=True, AICC_INJECT="bias:3", AICC_INJECT_USER_MODE=True))
    V.update_parts()
    assert {"steering", "throttle"} <= set(inputs)
    assert servo.got == V.mem["steering"] == V.mem["angle"] != 0.2


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "donkey_aicc: monitor in learning mode because AICC_BUNDLE is None; injection off; no watchdog: no motor"),
        ({"DONKEY_GYM": True, "AICC_INJECT": "dark:2"}, "injection armed by the simulator, planned dark:2"),
        ({"AICC_INJECT_BUTTONS": True}, "injection off until armed by the web page or the cockpit, for 30 s at a time"),
        ({"AICC_INJECT_BUTTONS": True, "AICC_INJECT": "dark:2"}, "for 30 s at a time, planned dark:2"),
        ({"RECORD_DURING_AI": False}, "Not recorded while the pilot drives"),
    ],
)
def test_one_line_says_what_is_on(tmp_path, capsys, changes, wanted):
    add_aicc(a_car(), settings(tmp_path, **changes))
    assert wanted in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--inject", "dark:2"], ["--inject=dark:2"]])
def test_an_installed_car_takes_inject_from_its_command_line(tmp_path, capsys, monkeypatch, option):
    arguments = ["manage.py", "drive", *option, "--js"]
    monkeypatch.setattr(start_checks, "_given_inject", None)
    start_checks.take_inject_option(arguments)
    assert arguments == ["manage.py", "drive", "--js"]
    add_aicc(a_car(), settings(tmp_path, DONKEY_GYM=True))
    assert "planned dark:2" in capsys.readouterr().out


def test_inject_without_a_fault_is_said():
    with pytest.raises(ConfigError, match="--inject needs what to inject"):
        start_checks.take_inject_option(["manage.py", "drive", "--inject"])


def test_a_tub_with_the_same_channels_goes_on(tmp_path):
    inputs, types = add_aicc(a_car(), settings(tmp_path), ["cam/image_array"], ["image_array"])
    Tub(str(tmp_path), inputs=inputs, types=types).close()
    assert add_aicc(a_car(), settings(tmp_path), ["cam/image_array"], ["image_array"]) == (inputs, types)
