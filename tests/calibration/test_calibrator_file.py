"""calibrator.json belongs to one bundle, comes back as it was, and says what is wrong when it does not."""

import json

import numpy as np
import pytest
import torch

from donkey_aicc.calibration.calibrator_file import fitted_grades, load_calibrator, meaning_of, save_calibrator, score_settings
from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.nets.trained_nets import Nets, save_bundle
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.scoring.settings import ScoreSettings
from tests.synthetic_scores import synthetic_table

NOMINAL = synthetic_table(np.random.default_rng(0))


def make_bundle(folder, seed):
    torch.manual_seed(seed)
    manifest = Manifest(horizons=list(HORIZONS), action_stats={"mean": [0.0, 0.3], "std": [0.2, 0.1]})
    save_bundle(folder, Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))), manifest)
    return Bundle.load(folder)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("bundles") / "one", 0)


@pytest.fixture
def calibrator():
    return make_calibrator("temperature").fit(NOMINAL)


def test_comes_back_as_it_was(bundle, calibrator):
    save_calibrator(bundle, calibrator, {"method": "temperature"}, NOMINAL)
    p = np.linspace(0.05, 0.95, 7)
    np.testing.assert_array_equal(load_calibrator(bundle).calibrate(p, {}, 10), calibrator.calibrate(p, {}, 10))


def test_another_bundles_calibrator_is_refused(tmp_path, bundle, calibrator):
    other = make_bundle(tmp_path / "other", 1)
    save_calibrator(bundle, calibrator, {}, NOMINAL)
    other.calibrator_path.write_bytes(bundle.calibrator_path.read_bytes())
    with pytest.raises(AiccError, match="other weights or another manifest; make it again with: donkey-aicc calibrate"):
        load_calibrator(other)


def test_missing_and_damaged_files_say_what_to_do(bundle, calibrator):
    bundle.calibrator_path.unlink(missing_ok=True)
    with pytest.raises(AiccError, match="has no calibrator; make it again with: donkey-aicc calibrate"):
        load_calibrator(bundle)
    save_calibrator(bundle, calibrator, {}, NOMINAL)
    text = bundle.calibrator_path.read_text()
    bundle.calibrator_path.write_text(text[: len(text) // 2])
    with pytest.raises(AiccError, match="is damaged"):
        load_calibrator(bundle)
    stored = json.loads(text)
    for grades, complaint in (({"full": {"name": "surprise"}}, "surprise"), ([], "grades is not a table")):
        changed = stored | {"grades": grades}
        bundle.calibrator_path.write_text(json.dumps(changed | {"meaning": meaning_of(changed)}))
        with pytest.raises(AiccError, match=complaint):
            load_calibrator(bundle)


def test_every_grade_has_its_own_calibrator_and_settings(bundle, calibrator):
    settings = ScoreSettings(samples=12, rollout_steps=30, seed=3)
    light = make_calibrator("temperature").fit(synthetic_table(np.random.default_rng(1)))
    calibrator.settings, light.settings = settings, settings.at_grade("light")
    save_calibrator(bundle, [light, calibrator], {}, NOMINAL)
    assert fitted_grades(bundle) == ("full", "light")
    assert load_calibrator(bundle).settings == score_settings(bundle) == settings
    again = load_calibrator(bundle, "light")
    assert again.settings == light.settings and again.temperatures == light.temperatures != calibrator.temperatures
    with pytest.raises(AiccError, match="has no grade half, only light, full"):
        load_calibrator(bundle, "half")
    with pytest.raises(AiccError, match="grade must be one of full, half, light"):
        load_calibrator(bundle, "heavy")
    save_calibrator(bundle, [light], {}, NOMINAL)
    assert load_calibrator(bundle).settings == score_settings(bundle) == light.settings  # the best that there is


def test_settings_that_are_not_understood_are_refused(bundle, calibrator):
    save_calibrator(bundle, calibrator, {}, NOMINAL)
    stored = json.loads(bundle.calibrator_path.read_text())
    stored["grades"]["full"]["settings"]["colour"] = 1
    bundle.calibrator_path.write_text(json.dumps(stored | {"meaning": meaning_of(stored)}))
    with pytest.raises(AiccError, match="score settings must be a table with context"):
        load_calibrator(bundle)
