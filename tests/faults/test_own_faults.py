"""A fault of somebody else: known everywhere by its name, repeatable, and nothing to learn from unless its owner says so."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.faults import protocols
from donkey_aicc.faults.fault import make_fault, parse_schedule
from donkey_aicc.faults.own_faults import register_fault
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.injection_control import InjectionControl

IMAGE = np.full((120, 160, 3), 100, dtype=np.uint8)


@pytest.fixture(autouse=True)
def tables_as_before():
    before = dict(protocols.FAULTS), dict(protocols.D_AUG_DRIVEN)
    yield
    for table, content in zip((protocols.FAULTS, protocols.D_AUG_DRIVEN), before, strict=True):
        table.clear()
        table.update(content)


def rain(severity, rng):
    def see(image):
        drops = rng.random(image.shape[:2]) < 0.05 * severity
        return np.where(drops[..., None], 255, image).astype(np.uint8)

    return see


def test_it_is_scheduled_and_injected_like_ours_and_repeats_itself():
    register_fault("rain", rain)
    control = InjectionControl(parse_schedule("rain:3"), rate_hz=20)
    part = AnomalyInjector(control, "sensor")
    first = part.run(IMAGE, "local")
    assert (first != IMAGE).any() and "rain" in control.faults
    fault = make_fault("rain", 3, episode=1)
    again = [fault.sensor.run(IMAGE) for _ in range(2)]
    fault.reset()
    assert (again[0] != again[1]).any() and (fault.sensor.run(IMAGE) == again[0]).all()


def test_a_command_fault_changes_commands_only():
    register_fault("tired_servo", lambda severity, rng: lambda steering, throttle: (0.5 * steering, throttle), side="command")
    fault = make_fault("tired_servo", 1)
    assert fault.sensor is None and fault.command.run(0.8, 0.3) == (0.4, 0.3)


def test_calibrate_learns_from_it_only_if_its_owner_says_so():
    register_fault("rain", rain)
    register_fault("mud", rain, learn=True)
    assert protocols.for_tests_only(["", "rain", "mud", "fog", "bias+fog"]) == ["bias", "rain"]


@pytest.mark.parametrize("name", ["dark", "Rain", "", "a b", "x" * 41])
def test_names_that_cannot_be_told_apart_are_refused(name):
    with pytest.raises(ConfigError, match="name must be"):
        register_fault(name, rain)


def test_it_has_no_parameters_to_change():
    register_fault("rain", rain)
    with pytest.raises(AiccError, match="rain has no parameters"):
        make_fault("rain", 1, overrides={"severity": 2})
