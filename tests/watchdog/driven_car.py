"""A car's program: `python -m tests.watchdog.driven_car DRIVETRAIN FAULT`. donkeycar's drivetrain, our wiring, a pilot at .42.

It prints a line when it drives. FAULT is what one of its parts does when the file $AICC_FAULT_NOW appears.
"""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import donkeycar as dk
from donkeycar.templates.complete import add_drivetrain

from donkey_aicc import channels
from donkey_aicc.car.wiring import add_aicc

PULSES = {"THROTTLE_FORWARD_PWM": 500, "THROTTLE_STOPPED_PWM": 370, "THROTTLE_REVERSE_PWM": 220}
TURNS = {"STEERING_LEFT_PWM": 460, "STEERING_RIGHT_PWM": 290}
SCALES = {f"PWM_{name}_{key}": value for name in ("STEERING", "THROTTLE") for key, value in (("SCALE", 1.0), ("INVERTED", False))}


def settings(kind, port):
    cfg = SimpleNamespace(DATA_PATH=os.environ["AICC_FAKE_WIRES"] + ".data", DRIVE_LOOP_HZ=20, DONKEY_GYM=False)
    for name, value in {**PULSES, **TURNS}.items():
        setattr(cfg, name, value)
    cfg.STEERING_CHANNEL, cfg.THROTTLE_CHANNEL, cfg.PCA9685_I2C_ADDR, cfg.PCA9685_I2C_BUSNUM = 1, 0, 0x40, 1
    pin = {"PCA9685": "PCA9685.1:40.{}", "RPI_GPIO": "RPI_GPIO.BCM.{}", "PIGPIO": "PIGPIO.BCM.{}"}
    cfg.DRIVE_TRAIN_TYPE, _, provider = kind.partition("/")
    if provider:
        servo = {"PWM_STEERING_PIN": pin[provider].format(1), **SCALES, **TURNS, **PULSES}
        cfg.PWM_STEERING_THROTTLE = {**servo, "PWM_THROTTLE_PIN": pin[provider].format(0)}
        cfg.SERVO_HBRIDGE_2PIN = {**servo, "FWD_DUTY_PIN": pin[provider].format(0), "BWD_DUTY_PIN": pin[provider].format(2)}
    cfg.MM1_SERIAL_PORT, cfg.MM1_STEERING_MID, cfg.MM1_MAX_FORWARD, cfg.MM1_STOPPED_PWM, cfg.MM1_MAX_REVERSE = (
        port,
        1500,
        2000,
        1500,
        1000,
    )
    cfg.VESC_SERIAL_PORT, cfg.VESC_MAX_SPEED_PERCENT, cfg.VESC_HAS_SENSOR, cfg.VESC_START_HEARTBEAT = port, 0.2, True, True
    cfg.VESC_BAUDRATE, cfg.VESC_TIMEOUT, cfg.VESC_STEERING_SCALE, cfg.VESC_STEERING_OFFSET = 115200, 0.05, 0.5, 0.5
    return cfg


class Pilot:
    def run(self):
        return None, 0.1, 0.42


class Fault:
    """The part that goes wrong, and the line that says that the car drives."""

    def __init__(self, what):
        self.what, self.now, self.ticks = what, Path(os.environ["AICC_FAULT_NOW"]), 0

    def run(self):
        self.ticks += 1
        if self.ticks == 10:
            print("drives", flush=True)
        if self.now.exists():
            getattr(self, self.what)()

    def nothing(self):
        pass

    def hang(self):
        """As a camera that gives no picture: other threads run on."""
        time.sleep(1e6)

    def deep_hang(self):
        """In a library that holds Python's lock."""
        sum(range(10**12))

    def stumble(self):
        """A loop that is late once, and goes on."""
        self.now.unlink()
        time.sleep(0.6)

    def memory(self):
        """Until there is none: the kernel would end the process, as this does."""
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
        kept = []
        while True:
            try:
                kept.append(bytearray(1 << 26))
            except MemoryError:
                os.abort()


if __name__ == "__main__":
    vehicle = dk.vehicle.Vehicle()
    car = settings(sys.argv[1], os.environ.get("AICC_FAKE_PORT", ""))
    vehicle.add(Pilot(), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    add_drivetrain(vehicle, car)
    vehicle.add(Fault(sys.argv[2]))
    add_aicc(vehicle, car)
    vehicle.start(rate_hz=car.DRIVE_LOOP_HZ)
