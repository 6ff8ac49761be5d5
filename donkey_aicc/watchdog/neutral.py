"""Neutral for every kind of motor driver that a second process can reach. Standard library, and what donkeycar itself calls.

An order is a plain table: {"kind": name, ...}. `orders.py` makes it in the car's process, `keeper.py` carries it out in its own.
"""

import os
import sys
from typing import Any, Protocol


class Device(Protocol):
    """in_process: the car's own process makes the pulses; two processes must not do it at once."""

    in_process: bool

    def neutral(self) -> None:
        """Once; it stays until somebody writes something else."""

    def release(self) -> None:
        """The loop is back: leave the motor to it."""


class PCA9685:
    """Pulses of a PCA9685 stay as they were last set, whatever becomes of the process. The board is not set up anew."""

    in_process = False

    def __init__(self, order: dict[str, Any]) -> None:
        import Adafruit_PCA9685
        from Adafruit_GPIO import I2C

        self._board = Adafruit_PCA9685.PCA9685.__new__(Adafruit_PCA9685.PCA9685)  # its __init__ would switch off every channel
        self._board._device = I2C.get_i2c_device(order["address"], busnum=order["bus"])
        self._channels: list[tuple[int, int]] = [tuple(each) for each in order["channels"]]

    def neutral(self) -> None:
        for channel, pulse in self._channels:
            self._board.set_pwm(channel, 0, pulse)

    def release(self) -> None:
        """The loop writes its own pulses again."""


class Pigpio:
    """The pigpio daemon makes the pulses and outlives both processes."""

    in_process = False

    def __init__(self, order: dict[str, Any]) -> None:
        import pigpio

        self._pi = pigpio.pi()
        if not self._pi.connected:
            raise OSError("the pigpio daemon does not answer: sudo systemctl start pigpiod")
        self._duties: list[tuple[int, int]] = [tuple(each) for each in order["duties"]]
        self._hardware: list[tuple[int, int, int]] = [tuple(each) for each in order["hardware"]]

    def neutral(self) -> None:
        for pin, duty in self._duties:
            self._pi.set_PWM_dutycycle(pin, duty)
        for pin, hertz, duty in self._hardware:
            self._pi.hardware_PWM(pin, hertz, duty)

    def release(self) -> None:
        """The loop writes its own pulses again."""


class RpiGpio:
    """The pulses come from a thread of the car's process: once it is dead or stopped, ours go on instead."""

    in_process = True

    def __init__(self, order: dict[str, Any]) -> None:
        from RPi import GPIO

        self._gpio, self._order, self._pulses = GPIO, order, []  # type: ignore[var-annotated]
        GPIO.setwarnings(False)
        GPIO.setmode(getattr(GPIO, order["scheme"]))

    def neutral(self) -> None:
        if self._pulses:
            return
        for pin, hertz, duty in self._order["pulses"]:
            self._gpio.setup(pin, self._gpio.OUT)
            if duty <= 0.0:
                self._gpio.output(pin, self._gpio.LOW)
                continue
            pulses = self._gpio.PWM(pin, hertz)
            pulses.start(100.0 * duty)
            self._pulses.append(pulses)

    def release(self) -> None:
        while self._pulses:
            self._pulses.pop().stop()


class Serial:
    """Bytes that mean neutral, written to the line that the car's process has set up."""

    in_process = False

    def __init__(self, order: dict[str, Any]) -> None:
        self._line = os.open(order["port"], os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        self._said = bytes.fromhex(order["bytes"])

    def neutral(self) -> None:
        os.write(self._line, self._said)

    def release(self) -> None:
        """The loop writes again."""


KINDS: dict[str, type[PCA9685] | type[Pigpio] | type[RpiGpio] | type[Serial]] = {
    "pca9685": PCA9685,
    "pigpio": Pigpio,
    "rpi_gpio": RpiGpio,
    "serial": Serial,
}


def open_devices(orders: list[dict[str, Any]]) -> list[Device]:
    """All of them, or an error that says which cannot be reached."""
    return [KINDS[order["kind"]](order) for order in orders]


def make_neutral(devices: list[Device]) -> None:
    """Every one, whatever happens to another."""
    for device in devices:
        try:
            device.neutral()
        except Exception as error:  # a full line, a bus that is busy: it is tried again in the next moment
            print(f"watchdog: {type(error).__name__}: {error}", file=sys.stderr)
