"""A car's program in a process of its own, with real signals: whatever happens to it, the motor gets its neutral.

How long it takes is measured by benchmarks/watchdog_times.py; here only that it happens.
"""

import os
import signal
import time

import pytest

from tests.watchdog.wires import DrivenCar

SERVO, BRIDGE = "PWM_STEERING_THROTTLE/", "SERVO_HBRIDGE_2PIN/"


@pytest.fixture
def drive(tmp_path):
    cars = []

    def begin(*arguments):
        cars.append(DrivenCar(tmp_path, *arguments))
        return cars[-1]

    yield begin
    for car in cars:
        car.close()


@pytest.mark.parametrize("kind", ["I2C_SERVO", SERVO + "PCA9685", SERVO + "PIGPIO", BRIDGE + "RPI_GPIO", "MM1", "VESC"])
def test_a_killed_program_leaves_no_motor_running(drive, kind):
    """It kept its last throttle: kill -9 left a PCA9685 at .42 for good."""
    car = drive(kind)
    assert any("watchdog: the motor goes to neutral" in line for line in car.said)
    car.seconds_to_neutral(car.process.kill)


@pytest.mark.parametrize("fault", ["hang", "deep_hang", "memory"])
@pytest.mark.parametrize("kind", ["I2C_SERVO", pytest.param(BRIDGE + "RPI_GPIO", marks=pytest.mark.slow)])
def test_a_part_that_hangs_or_eats_all_memory(drive, kind, fault):
    car = drive(kind, fault)
    car.seconds_to_neutral(car.now.touch)


def test_a_program_that_is_stopped_and_goes_on(drive):
    car = drive("I2C_SERVO")
    car.seconds_to_neutral(lambda: car.process.send_signal(signal.SIGSTOP))
    car.process.send_signal(signal.SIGCONT)
    car.wait_until(lambda: not car.wires.neutral)
    assert car.process.poll() is None, "a loop that is back drives on"


def test_a_loop_that_stumbles_is_held_and_drives_on(drive):
    car = drive("I2C_SERVO", "stumble")
    car.now.touch()
    car.wait_until(lambda: not car.now.exists())
    car.wait_until(lambda: any(neutral for _, neutral in car.wires.history()[-50:]))
    car.wait_until(lambda: not car.wires.neutral)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_drive_in_order(drive, number):
    car = drive("I2C_SERVO")
    car.seconds_to_neutral(lambda: car.process.send_signal(number))
    assert car.process.wait(60) == 0


def test_a_signal_ends_even_a_loop_that_is_deep_in_a_library(drive):
    """SIGTERM was ignored for as long as a part computed."""
    car = drive("I2C_SERVO", "deep_hang")
    car.seconds_to_neutral(car.now.touch)
    for _ in range(2):
        car.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
    assert car.process.wait(60) == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_drive_without_its_watchdog_ends(drive, number):
    car = drive("I2C_SERVO")
    watchdog = car.watchdog
    car.seconds_to_neutral(lambda: os.kill(watchdog, number))
    assert car.process.wait(60) == 0 and not os.path.exists(f"/proc/{watchdog}")
