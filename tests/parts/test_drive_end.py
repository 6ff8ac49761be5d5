"""A drive ends in order: on a signal, and when the controller is gone."""

import os
import signal
import threading

import pytest
from donkeycar.vehicle import Vehicle

from donkey_aicc.parts.drive_end import SIGNALS, DriveEnd


class Does:
    """A part that does something in its n-th tick."""

    def __init__(self, what, when=3):
        self.ticks, self.what, self.when = 0, what, when

    def run(self):
        self.ticks += 1
        if self.ticks == self.when:
            self.what()


class Motor:
    sent = 0.0

    def run(self, throttle):
        self.sent = throttle

    def shutdown(self):
        self.sent = 0.0


def drive(*parts, ticks=50):
    vehicle, motor, last = Vehicle(), Motor(), Does(lambda: None)
    vehicle.mem["throttle"] = 0.4
    vehicle.add(motor, inputs=["throttle"])
    for part in (DriveEnd(vehicle), *parts, last):
        vehicle.add(part)
    done = vehicle.start(rate_hz=100_000, max_loop_count=ticks)
    assert motor.sent == 0.0
    return last.ticks, done


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_drive_after_the_tick_it_came_in(number):
    """SIGTERM and SIGHUP ended an installed car's program where it stood, with the motor at its last throttle."""
    before = signal.getsignal(number)
    ticks, done = drive(Does(lambda: os.kill(os.getpid(), number)))
    assert ticks == 3 and done is not None and signal.getsignal(number) == before


def test_a_second_signal_interrupts_a_part_that_goes_on_and_on():
    def hang():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
        while True:
            pass

    ticks, done = drive(Does(hang))
    assert ticks == 2 and done is None


def test_a_signal_that_somebody_else_handles_stays_his():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert drive(Does(lambda: os.kill(os.getpid(), signal.SIGHUP)))[0] == 50
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_a_controller_that_is_unplugged_ends_the_drive(caplog):
    gone = threading.Event()

    class Joystick:
        def update(self):
            gone.wait(20.0)  # then its read fails, and donkeycar's thread is over

        def run_threaded(self):
            return 0.0, 0.6

        def shutdown(self):
            gone.set()

    vehicle, motor = Vehicle(), Motor()
    vehicle.add(Joystick(), outputs=["user/steering", "user/throttle"], threaded=True)
    vehicle.add(motor, inputs=["user/throttle"])
    vehicle.add(DriveEnd(vehicle))
    vehicle.add(Does(gone.set))
    assert vehicle.start(rate_hz=1000)[0] >= 3 and motor.sent == 0.0
    assert "Joystick is lost; the drive ends" in caplog.text
