"""The places of our parts in loops built like donkeycar's own, and in stranger ones.

A long drive does not fill the memory with times of parts.
"""

import pytest
from donkeycar.vehicle import PartProfiler, Vehicle

from donkey_aicc.car import drive_loop
from donkey_aicc.car.drive_loop import after_camera, before_drivetrain, inserting_at
from donkey_aicc.errors import AiccError

IMAGE = "cam/image_array"
# (name, inputs, outputs), in the order of donkeycar's complete template.
CAMERA = [("camera", [], [IMAGE])]
CONTROLS = [("page", ["ui/image_array"], ["user/mode"]), ("condition", ["user/mode", IMAGE], ["run_pilot", "ui/image_array"])]
PILOT = [("pilot", [IMAGE], ["pilot/angle", "pilot/throttle"])]
COMMANDS = [("mode", ["user/mode", "pilot/angle"], ["steering", "throttle"]), ("recording", ["recording"], ["recording"])]
SERVO = [("servo", ["steering"], []), ("motor", ["throttle"], [])]
OLED = [("oled", ["recording"], [])]


def loop(*parts):
    return [{"part": name, "inputs": inputs, "outputs": outputs} for name, inputs, outputs in parts]


def neighbours(parts, place):
    """(name before, name after) the place."""
    names = ["start", *(entry["part"] for entry in parts), "end"]
    return names[place], names[place + 1]


def test_a_real_car():
    parts = loop(*CAMERA, *CONTROLS, *PILOT, *COMMANDS, *SERVO, *OLED)
    assert neighbours(parts, after_camera(parts)) == ("camera", "page")
    assert neighbours(parts, before_drivetrain(parts)) == ("recording", "servo")


def test_without_a_drivetrain_commands_end_at_the_end():
    parts = loop(*CAMERA, *CONTROLS, *PILOT, *COMMANDS, *OLED)
    assert neighbours(parts, before_drivetrain(parts)) == ("oled", "end")


def test_simulators_and_odometry_take_the_commands_of_the_loop_before():
    simulator = ("simulator", ["steering", "throttle"], [IMAGE, "pos/cte"])
    odometry = ("odometry", ["throttle", "steering", None], ["enc/speed"])
    parts = loop(simulator, ("progress", [], ["aicc/lap", "aicc/hit"]), odometry, *CONTROLS, *PILOT, *COMMANDS)
    assert neighbours(parts, after_camera(parts)) == ("progress", "odometry")
    assert neighbours(parts, before_drivetrain(parts)) == ("recording", "end")


def test_frames_are_converted_before_they_are_spoiled():
    pair = [("left", [], ["cam/image_array_a"]), ("right", [], ["cam/image_array_b"])]
    stereo = ("stereo", ["cam/image_array_a", "cam/image_array_b"], [IMAGE])
    parts = loop(*pair, stereo, ("bgr to rgb", [IMAGE], [IMAGE]), *CONTROLS, *PILOT)
    assert neighbours(parts, after_camera(parts)) == ("bgr to rgb", "page")


def test_a_part_that_draws_into_the_frame_after_the_pilot_is_no_camera():
    stop_sign = ("stop sign", [IMAGE, "pilot/throttle"], ["pilot/throttle", IMAGE])
    parts = loop(*CAMERA, *CONTROLS, *PILOT, stop_sign, *COMMANDS, *SERVO)
    assert neighbours(parts, after_camera(parts)) == ("camera", "page")


def test_what_changes_the_command_stands_before_its_faults():
    boost = ("boost", ["user/mode", "throttle"], ["throttle"])
    differential = [("wheels", ["throttle", "steering"], ["left/throttle"]), ("left", ["left/throttle"], [])]
    parts = loop(*CAMERA, *COMMANDS, boost, *differential)
    assert neighbours(parts, before_drivetrain(parts)) == ("boost", "wheels")


@pytest.mark.parametrize(("missing", "find"), [("camera", after_camera), ("mode", before_drivetrain)])
def test_a_missing_part_is_named(missing, find):
    parts = [entry for entry in loop(*CAMERA, *PILOT, *COMMANDS, *SERVO) if entry["part"] != missing]
    with pytest.raises(AiccError, match="no part of the vehicle outputs (cam/image_array|steering)"):
        find(parts)


def test_parts_keep_their_order_and_their_threads():
    class Part:
        def __init__(self, name):
            self.name = name

        def update(self):
            pass

    vehicle = Vehicle()
    for name in "ad":
        vehicle.add(Part(name))
    with inserting_at(vehicle, 1):
        vehicle.add(Part("b"), threaded=True)
        vehicle.add(Part("c"))
    vehicle.add(Part("e"))
    assert [entry["part"].name for entry in vehicle.parts] == list("abcde")
    assert ["thread" in entry for entry in vehicle.parts] == [False, True, False, False, False]


class Part:
    def run(self):
        return None


def test_only_the_newest_ticks_are_remembered_and_reported(monkeypatch, caplog):
    monkeypatch.setattr(drive_loop, "PROFILE_TICKS", 100)
    vehicle, parts = Vehicle(), [Part(), Part()]
    vehicle.add(parts[0])
    drive_loop.shorten_profile(vehicle)
    vehicle.add(parts[1])
    for _ in range(1000):
        vehicle.update_parts()
    assert all(50 <= len(vehicle.profiler.records[part]["times"]) <= 100 for part in parts)
    with caplog.at_level("INFO"):
        vehicle.profiler.report()
    assert "99.9%" in caplog.text


def test_another_profiler_stays():
    vehicle = Vehicle()
    other = vehicle.profiler = type("Other", (PartProfiler,), {})()
    drive_loop.shorten_profile(vehicle)
    assert vehicle.profiler is other
