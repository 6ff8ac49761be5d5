"""A calibrator file that would turn confidence round is refused before the car moves."""

import json

import pytest

from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from tests.monitor_under_test import add_calibrator, make_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = make_bundle(tmp_path_factory.mktemp("meaning") / "bundle")
    add_calibrator(folder)
    return Bundle.load(folder)


@pytest.fixture
def stored(bundle):
    good = bundle.calibrator_path.read_bytes()
    yield json.loads(good)
    bundle.calibrator_path.write_bytes(good)


def changed(stored: dict, path: str, value) -> dict:
    place = stored["grades"]["full"]
    *steps, last = path.split(".")
    for step in steps:
        place = place[step]
    place[last] = value
    return stored


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("parameters.temperatures.1", -1, "temperature of horizon 1 must be in 0.1..20, got -1"),
        ("parameters.temperatures.5", 1e6, "temperature of horizon 5 must be in 0.1..20"),
        ("parameters.weights.rho", -0.5, "weight of rho must be a number >= 0, got -0.5"),
        ("statistics.rho_raw.sigma", 0, "rho_raw.sigma must be > 0, got 0"),
        ("statistics.rho_raw.sigma", -2.0, "rho_raw.sigma must be > 0"),
        ("statistics.dynamics.scale", [0.0] * 12, "dynamics.scale must be > 0"),
        ("statistics.dynamics.mean", [0.0] * 3, "shapes"),
        ("statistics.dynamics.inverse", [[-1.0 * (i == j) for j in range(12)] for i in range(12)], "distances >= 0"),
        ("statistics.dynamics.inverse", [[1e308 * (i == j == 2) for j in range(12)] for i in range(12)], "numbers up to 1e"),
        ("statistics", None, "need statistics, got none"),
        ("parameters", None, "damaged"),
    ],
)
def test_numbers_without_meaning_are_refused(bundle, stored, path, value, rule):
    bundle.calibrator_path.write_text(json.dumps(changed(stored, path, value)))
    with pytest.raises(AiccError, match=rule) as caught:
        load_calibrator(bundle)
    assert "calibrator.json" in str(caught.value) and "donkey-aicc calibrate" in str(caught.value)


def test_the_good_file_still_loads(bundle):
    assert load_calibrator(bundle).name == "tta_rho_delta"
