"""Whatever a pilot, a page or a fault hands over as a command: what leaves our parts is finite and within [-1, 1]."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from donkeycar.vehicle import Vehicle
from hypothesis import given, settings
from hypothesis import strategies as st

from donkey_aicc.alarm.governor_policy import GovernorPolicy
from donkey_aicc.car.wiring import add_aicc
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.injection_control import InjectionControl
from donkey_aicc.parts.safety_governor import CommandLimits, SafetyGovernor


class Spiteful:
    def __float__(self):
        raise RuntimeError("no")

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


HOSTILE = [None, 10**400, -(10**400), math.nan, math.inf, -math.inf, 1e308, "0.5", b"1", True, [], {}, [0.5], 3 + 4j, Spiteful()]
HOSTILE += [np.float32(0.5), np.float64(math.nan), np.array(0.3), np.array([0.1, 0.2]), np.int64(7), Fraction(1, 3), object()]
VALUES = st.one_of(st.sampled_from(HOSTILE), st.floats(), st.integers())
MODES = st.sampled_from(["user", "local", "local_angle", None, 7])


def governor() -> SafetyGovernor:
    return SafetyGovernor(GovernorPolicy("stop", cruise=0.5))


def fits(value) -> bool:
    return type(value) is float and math.isfinite(value) and -1.0 <= value <= 1.0


@settings(max_examples=200, database=None, derandomize=True, deadline=None)
@given(VALUES, VALUES, MODES, st.sampled_from(["none", "bias:5", "latency:3", "bias:2,latency:5"]))
def test_the_injector_sends_what_a_drive_train_can_take(steering, throttle, mode, faults):
    control = InjectionControl(parse_schedule(faults), rate_hz=20, seed=1)
    sensor, command = AnomalyInjector(control, "sensor"), AnomalyInjector(control, "command", max_throttle=0.5)
    for _ in range(3):
        sensor.run(None, mode, None)
        sent = command.run(steering, throttle, mode)
        assert fits(sent[0]) and fits(sent[1])


@settings(max_examples=200, database=None, derandomize=True, deadline=None)
@given(st.one_of(VALUES, st.sampled_from(["none", "watch", "danger"])), VALUES, VALUES, MODES)
def test_the_governor_sends_what_a_drive_train_can_take(alarm, hazard, throttle, mode):
    for given_hazard in (hazard, [hazard, 0.9]):
        assert fits(governor().run(alarm, given_hazard, throttle, mode)[0])


@settings(max_examples=300, database=None, derandomize=True, deadline=None)
@given(VALUES, VALUES)
def test_the_last_part_sends_what_a_drive_train_can_take(steering, throttle):
    assert all(fits(value) for value in CommandLimits().run(steering, throttle))


def test_a_net_that_gives_numpy_numbers_is_governed_too():
    """donkeycar's Keras pilots give np.float32, which is no Python float."""
    free, held = (governor().run(alarm, [0.0], np.float32(0.5), "local", "ok")[0] for alarm in ("none", "danger"))
    assert free == 0.5 and held < 0.5


def test_good_commands_go_through_unchanged():
    limits = CommandLimits()
    assert limits.run(-0.25, 0.5) == (-0.25, 0.5) and limits.run(None, None) == (0.0, 0.0)
    assert limits.changed == 0


def test_a_command_that_is_no_number_is_said_once_and_counted(caplog):
    limits = CommandLimits()
    for _ in range(5):
        assert limits.run(math.nan, 10**400) == (0.0, 0.0)
    said = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert limits.changed == 5 and len(said) == 1 and len(said[0]) < 500


@pytest.mark.parametrize("bad", [math.nan, math.inf, 10**400])
def test_every_car_has_the_limits_right_before_its_drive_train(bad, tmp_path):
    class Pilot:
        def run(self):
            return np.zeros((12, 16, 3), np.uint8), bad, bad

    class DriveTrain:
        got = None

        def run(self, *sent):
            self.got = sent

    vehicle, train = Vehicle(), DriveTrain()
    vehicle.add(Pilot(), outputs=["cam/image_array", "steering", "throttle"])
    vehicle.add(train, inputs=["steering", "throttle"])
    cfg = SimpleNamespace(DATA_PATH=str(tmp_path), DRIVE_LOOP_HZ=20, DONKEY_GYM=False, IMAGE_W=16, IMAGE_H=12, IMAGE_DEPTH=3)
    add_aicc(vehicle, cfg)
    vehicle.update_parts()
    assert train.got == (0.0, 0.0)
