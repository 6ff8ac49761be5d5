"""The hooks: what they add, and what they refuse before the car moves."""

from types import SimpleNamespace

import pytest
from donkeycar.parts.tub_v2 import Tub
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels, wiring
from donkey_aicc.errors import AiccError, ConfigError


def settings(tmp_path, **changes):
    defaults = {"DATA_PATH": str(tmp_path), "IMAGE_W": 160, "IMAGE_H": 120, "IMAGE_DEPTH": 3, "DRIVE_LOOP_HZ": 20}
    return SimpleNamespace(**{**defaults, "DONKEY_GYM": False, **changes})


def test_the_monitor_adds_the_sent_command_to_the_tub_once(tmp_path):
    cfg = settings(tmp_path)
    given = ["cam/image_array", "user/mode"], ["image_array", "str"]
    inputs, types = wiring.add_monitor(Vehicle(), cfg, *given)
    assert inputs == ["cam/image_array", "user/mode", "steering", "throttle"]
    assert types == ["image_array", "str", "float", "float"]
    assert given == (["cam/image_array", "user/mode"], ["image_array", "str"])
    assert wiring.add_monitor(Vehicle(), cfg, inputs, types) == (inputs, types)


def test_the_simulator_is_camera_and_location(tmp_path):
    cfg = settings(tmp_path, AICC_SIM=True, AICC_SIM_TRACK="oval", IMAGE_W=80, IMAGE_H=60)
    V = Vehicle()
    simulator = wiring.add_embedded_simulator(V, cfg)
    V.mem["steering"], V.mem["throttle"] = 0.0, 0.5
    for _ in range(20):
        V.update_parts()
    assert simulator.world.track.name == "oval"
    assert V.mem[channels.IMAGE].shape == (60, 80, 3)
    assert V.mem[channels.SPEED] > 0.1
    assert (V.mem[channels.LAP], V.mem[channels.HIT]) == (1, False)
    wiring.add_sensor_faults(V, cfg)
    wiring.add_command_stage(V, cfg)
    inputs, types = wiring.add_monitor(V, cfg, [], [])
    assert {*channels.LOCATION, channels.LAP, channels.HIT, "steering", "throttle"} <= set(inputs)
    assert len(inputs) == len(types)


def test_a_simulator_that_is_not_wired_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="AICC_SIM = True works in a car made by donkey-aicc createcar"):
        wiring.add_sensor_faults(Vehicle(), settings(tmp_path, AICC_SIM=True))


@pytest.mark.parametrize("hook", [wiring.add_sensor_faults, wiring.add_command_stage])
def test_every_hook_checks_our_keys(tmp_path, hook):
    with pytest.raises(ConfigError, match="unknown setting AICC_SPEED"):
        hook(Vehicle(), settings(tmp_path, AICC_SPEED=1))


def test_two_simulators_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="must not both be True"):
        wiring.add_embedded_simulator(Vehicle(), settings(tmp_path, AICC_SIM=True, DONKEY_GYM=True))


def test_a_tub_with_other_channels_is_refused_in_words(tmp_path):
    old = Tub(str(tmp_path), inputs=["cam/image_array"], types=["image_array"])
    old.close()
    with pytest.raises(AiccError, match="recorded with other channels.*AUTO_CREATE_NEW_TUB"):
        wiring.add_monitor(Vehicle(), settings(tmp_path), ["cam/image_array"], ["image_array"])
    wiring.add_monitor(Vehicle(), settings(tmp_path, AUTO_CREATE_NEW_TUB=True), ["cam/image_array"], ["image_array"])


def test_a_tub_with_the_same_channels_goes_on(tmp_path):
    inputs, types = wiring.add_monitor(Vehicle(), settings(tmp_path), ["cam/image_array"], ["image_array"])
    Tub(str(tmp_path), inputs=inputs, types=types).close()
    assert wiring.add_monitor(Vehicle(), settings(tmp_path), ["cam/image_array"], ["image_array"]) == (inputs, types)
