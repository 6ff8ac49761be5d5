"""The injector on both sides, through donkeycar's own Vehicle where it matters."""

import donkeycar as dk
import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.faults.protocols import PROTOCOLS, SOUND
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.injection_control import InjectionControl


class Car:
    """Sensor and command side around one control, driven tick by tick."""

    def __init__(self, schedule="", *, max_throttle=1.0, clean_too=False, **settings):
        self.control = InjectionControl(parse_schedule(schedule), **settings)
        self.sensor = AnomalyInjector(self.control, "sensor", clean_too=clean_too)
        self.command = AnomalyInjector(self.control, "command", max_throttle=max_throttle)

    def tick(self, image=None, steering=0.1, throttle=0.3, mode="local", lap=None, mode_after=None):
        seen = self.sensor.run(image, mode, lap)
        return seen, *self.command.run(steering, throttle, mode_after or mode)


def grey(value=100):
    return np.full((12, 16, 3), value, np.uint8)


def test_scheduled_dark_is_played_and_recorded_then_the_clean_path_returns():
    car = Car("dark:3@0.5s-1s", rate_hz=10)
    told = [car.tick(grey())[3:] for _ in range(12)]
    assert told == [("", 0, -1)] * 5 + [("dark", 3, 0)] * 5 + [("", 0, -1)] * 2


def test_combination_is_named_and_numbered():
    car = Car("bias:2@0-4ticks,blur:4@2-6ticks")
    assert [car.tick(grey())[3:] for _ in range(7)] == [
        ("bias", 2, 0),
        ("bias", 2, 0),
        ("bias+blur", 4, 1),
        ("bias+blur", 4, 1),
        ("blur", 4, 2),
        ("blur", 4, 2),
        ("", 0, -1),
    ]


def test_untouched_ticks_hand_on_the_very_same_values():
    car, image = Car("dark:3@lap2"), grey()
    seen, steering, throttle, *told = car.tick(image, 0.7, -0.3, lap=1)
    assert seen is image and (steering, throttle) == (0.7, -0.3) and told == ["", 0, -1]


@pytest.mark.parametrize("severity", [1, 5])
def test_commands_stay_in_range_and_throttle_under_the_cap(severity):
    car = Car(f"bias:{severity},latency:{severity}", max_throttle=0.4)
    sent = np.array([car.tick(grey(), 0.95, 0.5)[1:3] for _ in range(200)])
    assert np.abs(sent[:, 0]).max() <= 1.0 and sent[:, 1].max() <= 0.4


def test_no_image_no_command_is_no_error():
    car = Car("dark:1,blur:1,latency:1,bias:1")
    assert car.tick(None, None, None) == (None, 0.0, 0.0, "", 0, -1)


def test_user_mode_is_clean_and_so_is_the_command_of_the_tick_that_switches():
    car = Car("dark:3,bias:5")
    assert car.tick(grey())[3] == "bias+dark"
    seen, steering, throttle, protocol, *_ = car.tick(grey(), mode="local", mode_after="user")
    assert (steering, throttle) == (0.1, 0.3) and protocol == "dark" and seen[0, 0, 0] < 100
    assert car.tick(grey(), mode="user")[1:] == (0.1, 0.3, "", 0, -1)
    assert Car("bias:5", in_user_mode=True).tick(grey(), mode="user")[3] == "bias"


def test_clean_frame_is_offered_beside_the_corrupted_one():
    car, image = Car("dark:5", clean_too=True), grey()
    seen, clean = car.sensor.run(image, "local")
    assert clean is image and seen.max() < image.max()


def test_shutdown_and_broken_frames_give_the_clean_path_back():
    car = Car("blur:3")
    odd = np.array([["not", "an image"]])
    assert car.tick(odd)[0] is odd
    assert not car.control.armed
    car = Car("dark:3,bias:3")
    car.sensor.shutdown()
    car.control.arm()
    assert car.tick(grey())[1:] == (0.1, 0.3, "", 0, -1)


def test_same_seed_same_drive_and_reset_plays_it_again():
    def play(car):
        return [car.tick(grey())[1:] for _ in range(40)]

    car = Car("bias:3@5-30ticks", seed=3)
    first = play(car)
    assert play(Car("bias:3@5-30ticks", seed=3)) == first
    assert play(Car("bias:3@5-30ticks", seed=4)) != first
    car.control.reset()
    assert play(car) == first


def test_in_a_vehicle_pilot_and_tub_get_the_corrupted_frame():
    class Camera:
        def run(self):
            return grey()

    class Pilot:
        def run(self, image):
            return float(image.mean()) / 255.0, 0.3

    class Tub:
        rows: list = []

        def run(self, *values):
            self.rows.append((values[0].mean(), *values[1:]))

    car = Car("dark:3@3-6ticks")
    vehicle = dk.vehicle.Vehicle()
    vehicle.mem["user/mode"] = "local"
    vehicle.add(Camera(), outputs=["cam/image_array"])
    vehicle.add(car.sensor, inputs=["cam/image_array", "user/mode", "aicc/lap"], outputs=["cam/image_array"])
    vehicle.add(Pilot(), inputs=["cam/image_array"], outputs=["steering", "throttle"])
    told = ["aicc/inject_protocol", "aicc/inject_severity", "aicc/inject_episode"]
    vehicle.add(car.command, inputs=["steering", "throttle", "user/mode"], outputs=["steering", "throttle", *told])
    vehicle.add(Tub(), inputs=["cam/image_array", "steering", *told])
    vehicle.start(rate_hz=1000, max_loop_count=8)
    assert [row[2:] for row in Tub.rows] == [("", 0, -1)] * 3 + [("dark", 3, 0)] * 3 + [("", 0, -1)] * 2
    assert all(steering == pytest.approx(mean / 255.0) for mean, steering, *_ in Tub.rows)
    dark = PROTOCOLS["dark"][3].luminance_factor
    assert Tub.rows[3][0] == pytest.approx(100 * dark, abs=0.5)
    assert not car.control.armed  # the vehicle shut it down


def test_a_broken_car_is_told_and_recorded_and_sound_again():
    suffered = []
    control = InjectionControl(parse_schedule("grip:3@1-2ticks,one_wheel:2@1-2ticks"), physical=True)
    sensor, command = AnomalyInjector(control, "sensor"), AnomalyInjector(control, "command", suffer=suffered.append)
    told = []
    for _ in range(3):
        sensor.run(None, "local")
        told.append(command.run(0.1, 0.2, "local"))
    assert told == [(0.1, 0.2, "", 0, -1), (0.1, 0.2, "grip+one_wheel", 3, 0), (0.1, 0.2, "", 0, -1)]
    assert [body == SOUND for body in suffered] == [True, False, True] and suffered[1].grip < 1.0 < suffered[1].drag
    command.shutdown()
    assert suffered[-1] == SOUND


def test_mistakes_are_named():
    control = InjectionControl()
    with pytest.raises(ConfigError, match="side must be one of sensor, command; got 'left'"):
        AnomalyInjector(control, "left")
    for wrong in (0, 1.01):
        with pytest.raises(ConfigError, match=rf"max_throttle must be in \(0, 1\], got {wrong}"):
            AnomalyInjector(control, "command", max_throttle=wrong)


def test_alone_it_hands_on_one_picture_and_every_throttle():
    control, image = InjectionControl(), grey()
    assert AnomalyInjector(control, "sensor").run(image) is image
    assert AnomalyInjector(control, "command").run(0.2, 1.0)[:2] == (0.2, 1.0)
