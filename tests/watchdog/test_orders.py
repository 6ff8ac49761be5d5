"""What the watchdog is told to write, read off parts that look like donkeycar's, and what a driver hears who has none."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.watchdog_wiring import add_watchdog
from donkey_aicc.watchdog.heartbeat import limit_s
from donkey_aicc.watchdog.orders import orders_of


def named(name, **values):
    return type(name, (), values)()


def entry(part, *inputs):
    return {"part": part, "inputs": list(inputs), "outputs": []}


def throttle(controller):
    return entry(named("PWMThrottle", controller=controller, zero_pulse=370), "throttle")


def gpio(number):
    return named("PwmPinGpio", pin_number=number, frequency=50, pin_scheme_str="BOARD")


def test_an_inverted_pulse_is_inverted_for_the_watchdog_too():
    pin = named("PwmPinPigpio", pin_number=13)
    for inverted, duty in ((False, 370), (True, 3725)):
        found = orders_of([throttle(named("PulseController", pwm_pin=pin, inverted=inverted, scale=1.0))])
        assert found.orders == [{"kind": "pigpio", "duties": [[13, duty]], "hardware": []}] and not found.cannot


def test_a_bridge_of_two_motors_is_free_on_every_pin():
    motors = [named("L298N_HBridge_2pin", pin_forward=gpio(1), pin_backward=gpio(2)) for _ in range(2)]
    steering = entry(named("L298N_HBridge_2pin", pin_forward=gpio(3), pin_backward=gpio(4)), "steering")
    found = orders_of([entry(motors[0], "left/throttle"), steering, entry(motors[1], "right/throttle")])
    assert [order["pulses"][0] for order in found.orders] == [[1, 50, 0.0], [2, 50, 0.0]] * 2
    assert [part for part, _ in found.motors] == motors, "the one that steers is none"


@pytest.mark.parametrize(
    "controller", [named("ServoBlaster"), named("PulseController", pwm_pin=named("Lamp"), inverted=False, scale=1.0)]
)
def test_what_cannot_be_watched_is_told(controller):
    found = orders_of([throttle(controller), entry(named("ArdPWMThrottle"), "throttle")])
    assert not found.orders and len(found.cannot) == 2 and len(found.motors) == 2


def wired(parts, **settings):
    vehicle, cfg = SimpleNamespace(parts=parts, add=lambda part: None), SimpleNamespace(DRIVE_LOOP_HZ=20, DONKEY_GYM=False)
    car = Assembly(vehicle, cfg, AiccConfig(**settings))
    add_watchdog(car)
    return car.said


def test_the_start_line_says_plainly_where_there_is_none(capfd):
    motor = throttle(named("ServoBlaster"))
    assert wired([motor]) == [
        "NO WATCHDOG, the motor keeps its last throttle if this program dies: a ServoBlaster keeps its last pulse, and no other "
        "process can write to it"
    ]
    assert wired([motor], watchdog=False) == ["no watchdog: AICC_WATCHDOG is False"]
    assert wired([]) == ["no watchdog: no motor of donkeycar's that it knows"] and wired([motor], sim=True) == []
    [said] = wired(
        [entry(named("RoboHATDriver", pwm=named("Serial", port="/dev/none"), STEERING_MID=1, STOPPED_PWM=2), "throttle")]
    )
    assert said.startswith("NO WATCHDOG, the motor keeps") and "FileNotFoundError" in said and "/dev/none" in said


def test_a_slow_loop_is_waited_for():
    assert [limit_s(hertz) for hertz in (60, 20, 5)] == [0.2, 0.2, 0.5]


def test_the_watchdog_is_small():
    code = "import sys, donkey_aicc.watchdog.keeper; print(sorted({'numpy', 'donkeycar', 'torch', 'logging'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
