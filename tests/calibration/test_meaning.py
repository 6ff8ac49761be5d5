"""A calibrator file that would turn confidence round, or put the alarm to sleep, is refused before the car moves."""

import json

import numpy as np
import pytest

from donkey_aicc.calibration.calibrator_file import check_honest, load_calibrator, meaning_of, save_calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from tests.monitor_under_test import add_calibrator, make_bundle, nominal_table


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = make_bundle(tmp_path_factory.mktemp("meaning") / "bundle")
    add_calibrator(folder, alarm=True)
    return Bundle.load(folder)


@pytest.fixture
def stored(bundle):
    good = bundle.calibrator_path.read_bytes()
    yield json.loads(good)
    bundle.calibrator_path.write_bytes(good)


def changed(stored: dict, path: str, value) -> dict:
    """As somebody would who knows how the hash is made."""
    place = stored["grades"]["full"]
    *steps, last = path.split(".")
    for step in steps:
        place = place[step]
    place[last] = value
    return stored | {"meaning": meaning_of(stored)}


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("parameters.temperatures.1", -1, "temperature of horizon 1 must be a number in 0.1..20, got -1"),
        ("parameters.temperatures.5", 1e6, "temperature of horizon 5 must be a number in 0.1..20"),
        ("parameters.weights.rho", -0.5, "weight of rho must be a number in 0..20, got -0.5"),
        ("statistics.rho_raw.sigma", 0, "rho_raw: mu and sigma must be finite, sigma > 0"),
        ("statistics.rho_raw.sigma", -2.0, "rho_raw: mu and sigma must be finite, sigma > 0"),
        ("statistics.dynamics.scale", [0.0] * 12, "dynamics: scale and sigma must be > 0"),
        ("statistics.dynamics.mean", [0.0] * 3, "shapes"),
        ("statistics.dynamics.inverse", [[-1.0 * (i == j) for j in range(12)] for i in range(12)], "distances >= 0"),
        ("statistics.dynamics.inverse", [[1e308 * (i == j == 2) for j in range(12)] for i in range(12)], "numbers up to 1e"),
        ("statistics.rho_raw.mu", 1e6, "rho_raw: mu must fit the nominal rows beside it"),
        ("statistics.rho_raw.sigma", 1e3, "rho_raw: sigma must fit the nominal rows beside it"),
        ("statistics.dynamics.mu", 1e6, "dynamics: mu must fit"),
        ("statistics.dynamics.mean", [50.0] * 12, "mean and scale must be those of the nominal rows"),
        ("statistics.dynamics.scale", [1e6] * 12, "mean and scale must be those of the nominal rows"),
        ("statistics.dynamics.inverse", [[0.0] * 12 for _ in range(12)], "must see every direction"),
        ("statistics", None, "need statistics, got none"),
        ("statistics.log_rho", None, "score statistics are damaged"),
        ("statistics.dynamics_held_out", None, "score statistics are damaged"),
        ("parameters.temperatures", {"1": 0.1, "5": 0.1}, "how sure it is must be at most 0.15 above the truth"),
        ("settings.grade", "light", "was fitted at grade light"),
        ("alarm.watch.value", 5000.0, "threshold must be a number in"),
        ("alarm.danger.pieces", -5, "pieces of an alarm's threshold must be a number"),
        ("alarm.danger.promise", 1e-9, "promise of an alarm's threshold must be a number in 0.1"),
        ("starts_from", "no", "starts_from must be one of p_safe, p_tta, p_restored; got 'no'"),
        ("alarm.stop_hazard", 1.0, "stop_hazard must be a number in 0..0.9"),
        ("alarm.hazard_unit", 1e3, "hazard unit must be a number in 0.5..30"),
        (
            "alarm.hazard",
            {"horizons": [1, 5], "offsets": [-1e300, -1e300], "weights": {}},
            "offsets.*must be a number in -30..30",
        ),
        ("alarm.scales.signs.light.above", 1e9, "above of .*light must be a number"),
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


def test_an_edit_by_hand_is_refused(bundle, stored):
    stored["grades"]["full"]["parameters"]["weights"]["rho"] = 0.9
    bundle.calibrator_path.write_text(json.dumps(stored))
    with pytest.raises(AiccError, match="was changed by hand"):
        load_calibrator(bundle)
    manifest = bundle.path / "manifest.json"
    good = manifest.read_text()
    for field, value in (("tau", 0.5), ("horizons", [1, 50]), ("action_stats", {"mean": [0.0, 0.0], "std": [9.0, 9.0]})):
        manifest.write_text(json.dumps(json.loads(good) | {field: value}))
        with pytest.raises(AiccError, match="was changed by hand"):
            Bundle.load(bundle.path)
    manifest.write_text(good)


def test_grades_that_changed_places_are_refused(bundle, stored):
    stored["grades"]["light"] = stored["grades"].pop("full")
    bundle.calibrator_path.write_text(json.dumps(stored | {"meaning": meaning_of(stored)}))
    with pytest.raises(AiccError, match="stands at grade light was fitted at grade full"):
        load_calibrator(bundle)


def test_the_nominal_rows_belong_to_the_calibrator(bundle):
    nominal = bundle.path / "nominal.npz"
    good = nominal.read_bytes()
    for change in (nominal.unlink, lambda: nominal.write_bytes(good[:-1])):
        change()
        with pytest.raises(AiccError, match="nominal.npz is"):
            load_calibrator(bundle)
        nominal.write_bytes(good)
    load_calibrator(bundle)


def test_a_claim_above_the_truth_is_refused_and_half_safe_is_no_claim():
    safe = (np.arange(100) % 4 == 0).astype(float)[:, None]  # a quarter of the frames
    check_honest(np.full((100, 1), 0.5), safe)
    check_honest(safe * 0.9 + 0.05, safe)
    with pytest.raises(AiccError, match="mean confidence must be at most"):
        check_honest(np.full((100, 1), 0.999), safe)
    with pytest.raises(AiccError, match="how sure it is must be at most"):
        check_honest(np.full((100, 1), 0.001), 1.0 - safe)
    check_honest(np.full((4, 1), 0.9), np.full((4, 1), np.nan))  # without labels nothing contradicts it


def test_a_calibrator_that_contradicts_its_own_drives_is_not_even_saved(bundle, stored):
    calibrator = load_calibrator(bundle)
    calibrator.temperatures = dict.fromkeys(calibrator.temperatures, 0.1)
    with pytest.raises(AiccError, match="how sure it is"):
        save_calibrator(bundle, calibrator, {}, nominal_table())
