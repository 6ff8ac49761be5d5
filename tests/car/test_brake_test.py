"""`donkey-aicc brake-test`: what it finds on the simulated car with each kind of speed controller, measured and by asking."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from donkey_aicc.alarm.brake import COASTS, SIMULATED, BrakeSettings
from donkey_aicc.car.assembly import Assembly
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.car.monitor_wiring import brake_of, speed_channel
from donkey_aicc.car.settings_file import set_keys
from donkey_aicc.car.try_brake import BrakeTest
from donkey_aicc.cli import main
from donkey_aicc.errors import AiccError
from donkey_aicc.limits import ESC_KINDS
from donkey_aicc.simulator.vehicle import Vehicle, VehicleConfig
from tests.car_under_test import make_car

CRUISE = 0.42


class Bench:
    """A simulated car; without a sensor a person looks at it and answers."""

    tick_s = 0.05

    def __init__(self, kind, measures, brake_mps2=6.0):
        self.measures, self.asked = measures, []
        self._config = VehicleConfig(speed_controller=kind, brake_mps2=brake_mps2)
        self.car, self._slowest = Vehicle(self._config), 0.0

    def send(self, throttle):
        self.car.step(0.0, throttle, self.tick_s)
        self._slowest = min(self._slowest, self.car.speed) if throttle < 0.0 or self._slowest else 0.0
        return self.car.speed if self.measures else None

    def put_back(self):
        self.car, self._slowest = Vehicle(self._config), 0.0

    def answer(self, question):
        self.asked.append(question)
        if "Enter" in question:
            return ""
        if "drove and braked" in question:
            return "b" if self._slowest < -0.05 else "s" if self.car.speed < 0.05 else "r"
        return "b" if self.car.speed < -0.05 else "r" if self.car.speed > 0.3 else "s"


@pytest.mark.parametrize("kind", ESC_KINDS)
def test_the_simulated_car_answers_for_itself(kind):
    found = BrakeTest(Bench(kind, measures=True), CRUISE, 0.8, lambda question: pytest.fail(question)).run()
    assert found.settings.kind == kind and found.settings.throttle == -0.8 and found.metres <= 0.25
    if kind == "direct":
        assert found.settings.seconds == SIMULATED.seconds and abs(found.settings.lag_s - SIMULATED.lag_s) < 0.05


@pytest.mark.parametrize("kind", ESC_KINDS)
def test_a_person_answers_for_a_car_that_measures_nothing(kind):
    bench = Bench(kind, measures=False)
    found = BrakeTest(bench, CRUISE, 0.8, bench.answer).run()
    assert found.settings.kind == kind and 0.1 <= found.settings.seconds <= 0.8
    assert "on a block" in bench.asked[0] and any("on the floor" in question for question in bench.asked)


def test_a_car_that_has_no_brake_coasts():
    bench = Bench("double_tap", measures=True, brake_mps2=1e-6)
    bench._config = VehicleConfig(speed_controller="double_tap", brake_mps2=1e-6, drag_per_s=0.1, rolling_mps2=0.0)
    bench.put_back()
    assert not BrakeTest(bench, 0.1, 0.8, bench.answer).run().settings.brakes


def test_headless_it_writes_the_keys_of_the_simulated_car_and_nothing_else(tmp_path, capsys):
    car = make_car(tmp_path / "car", AICC_SIM_ESC="double_tap", AICC_BRAKE_KIND="direct")
    before = (car / "myconfig.py").read_text().splitlines()
    assert main(["brake-test", str(car), "--throttle", "0.42"]) == 0
    assert "Speed controller: double_tap. Brake -0.8" in capsys.readouterr().out
    after = (car / "myconfig.py").read_text().splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 4 and all(line.startswith("AICC_BRAKE_") for line in changed)
    given = {}
    exec("\n".join(changed), given)
    settings = {key.removeprefix("AICC_").lower(): value for key, value in given.items() if key.startswith("AICC_")}
    assert AiccConfig(**settings).brake_kind == "double_tap"


def test_a_real_cars_test_needs_somebody_who_looks(tmp_path, capsys):
    car = make_car(tmp_path / "car", AICC_SIM=False, DRIVE_TRAIN_TYPE="MOCK")
    assert main(["brake-test", str(car), "--throttle", "0.3"]) == 2
    assert "needs somebody who looks" in capsys.readouterr().err
    assert main(["brake-test", str(car)]) == 2 and "give --throttle" in capsys.readouterr().err
    assert main(["brake-test", str(tmp_path)]) == 2 and "no car in" in capsys.readouterr().err


def test_a_file_that_would_no_longer_be_python_is_left_alone(tmp_path):
    file = tmp_path / "myconfig.py"
    file.write_text("A = (\n")
    with pytest.raises(AiccError, match="Nothing was written"):
        set_keys(file, {"AICC_BRAKE_S": 0.2})
    assert file.read_text() == "A = (\n"


def assembly(outputs=(), **settings):
    vehicle = SimpleNamespace(parts=[{"part": None, "outputs": list(outputs)}])
    return Assembly(vehicle, SimpleNamespace(), AiccConfig(governor="stop", **settings))


def test_a_car_whose_brake_was_never_tried_coasts_and_says_so_and_the_simulated_one_brakes():
    real, tried, without = assembly(), assembly(brake_throttle=-0.5, brake_s=0.4), assembly(brake_throttle=0.0)
    assert brake_of(real) == COASTS and "STOP ONLY COASTS" in real.said[0] and "brake-test" in real.said[0]
    assert brake_of(tried) == BrakeSettings(-0.5, 0.4) and tried.said == []
    assert not brake_of(without).brakes and without.said == ["a stop coasts: AICC_BRAKE_THROTTLE is 0"]
    assert brake_of(assembly(sim=True, sim_esc="double_tap")) == replace(SIMULATED, kind="double_tap")
    half = assembly(brake_throttle=-0.5)
    assert not brake_of(half).brakes and "AICC_BRAKE_S is 0" in half.said[0]


def test_the_speed_comes_from_where_it_is_measured():
    assert speed_channel(assembly(["enc/distance", "enc/speed", "pos/x"]).V) == "enc/speed"
    assert speed_channel(assembly(["cam/image_array", "pos/speed"]).V) == "pos/speed"
    assert speed_channel(assembly().V) == "pos/speed", "which nobody writes: None"
