"""What the watchdog has to write to make a car's motors neutral: read off donkeycar's parts as they stand in the vehicle."""

import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Orders:
    """orders: for `neutral.py`. motors: the parts themselves. cannot: why a motor is not watched, in words."""

    orders: list[dict[str, Any]] = field(default_factory=list)
    motors: list[tuple[Any, int]] = field(default_factory=list)  # part, number of its inputs
    cannot: list[str] = field(default_factory=list)


def orders_of(parts: Sequence[dict[str, Any]]) -> Orders:
    """parts: a vehicle's entries."""
    found = Orders()
    for entry in parts:
        part = entry["part"]
        read = _READ.get(type(part).__name__)
        takes_throttle = any(str(name).endswith("throttle") for name in entry["inputs"])
        if read is None or not takes_throttle:
            continue
        found.motors.append((part, len(entry["inputs"])))
        try:
            order = read(part)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            order = f"{type(part).__name__} is not as donkeycar 5.3 and 5.4 make it ({error})"
        if isinstance(order, str):
            found.cannot.append(order)
        else:
            found.orders += order
    return found


_FIRMATA = "the firmware behind ArduinoFirmata listens to one process only: use an ESC that stops by itself when the pulses do"


def _pwm_throttle(part: Any) -> list[dict[str, Any]] | str:
    controller, neutral, name = part.controller, part.zero_pulse, type(part.controller).__name__
    if name == "PulseController":
        pulse = 4095 - neutral if controller.inverted else neutral
        return [_pin(controller.pwm_pin, int(pulse * controller.scale) / 4095)]
    if name == "PCA9685":  # the deprecated one, of I2C_SERVO
        return [_pca9685(controller.pwm, controller.channel, int(neutral * controller.pwm_scale))]
    if name == "PiGPIO_PWM":
        output = neutral * 200
        duty = int(output if not controller.inverted else 1e6 - output)
        return [{"kind": "pigpio", "duties": [], "hardware": [[controller.pin, controller.freq, duty]]}]
    if name == "Teensy":
        said = b"%c %.1f\n" % (controller.channel, neutral / (controller.frequency * 4096) * 1e6)
        return [_serial(type(controller).teensy_device, said)]
    return f"a {name} keeps its last pulse, and no other process can write to it"


def _bridge(part: Any) -> list[dict[str, Any]] | str:
    """No pulse on any pin: the motor is free."""
    names = ("pwm_pin", "pin_forward", "pin_backward") if hasattr(part, "pwm_pin") else ("pin_forward", "pin_backward")
    return [_pin(getattr(part, name), 0.0) for name in names]


def _robohat(part: Any) -> list[dict[str, Any]] | str:
    return [_serial(part.pwm, b"%d, %d\r" % (part.STEERING_MID, part.STOPPED_PWM))]


def _vesc(part: Any) -> list[dict[str, Any]] | str:
    """A packet of pyvesc: set the duty cycle (5) to 0."""
    content = bytes([5, 0, 0, 0, 0])
    packet = bytes([2, len(content)]) + content + binascii.crc_hqx(content, 0).to_bytes(2, "big") + bytes([3])
    return [_serial(part.v.serial_port, packet)]


def _firmata(part: Any) -> list[dict[str, Any]] | str:
    return _FIRMATA


_READ = {
    "PWMThrottle": _pwm_throttle,
    "L298N_HBridge_2pin": _bridge,
    "L298N_HBridge_3pin": _bridge,
    "RoboHATDriver": _robohat,
    "VESC": _vesc,
    "ArdPWMThrottle": _firmata,
}


def _pin(pin: Any, duty: float) -> dict[str, Any]:
    """A pin of donkeycar's pins.py at a share of its period."""
    kind = type(pin).__name__
    if kind.endswith("PCA9685"):
        return _pca9685(pin.pca9685.pwm, pin.pin_number, int(4096 * duty) or 4096)  # 4096: no pulse at all
    if kind.endswith("Gpio"):
        hertz = getattr(pin, "frequency", 50)
        return {"kind": "rpi_gpio", "scheme": pin.pin_scheme_str, "pulses": [[pin.pin_number, hertz, duty]]}
    if kind.endswith("Pigpio"):
        return {"kind": "pigpio", "duties": [[pin.pin_number, int(duty * 4095)]], "hardware": []}
    raise ValueError(f"a pin of kind {kind}")


def _pca9685(board: Any, channel: int, pulse: int) -> dict[str, Any]:
    """donkeycar puts its bus number where the library looks for the default one; the library keeps the address only."""
    from Adafruit_GPIO import I2C

    address = board._device._address
    return {"kind": "pca9685", "bus": I2C.get_default_bus(), "address": address, "channels": [[channel, pulse]]}


def _serial(line: Any, said: bytes) -> dict[str, Any]:
    return {"kind": "serial", "port": line.port, "bytes": said.hex()}
