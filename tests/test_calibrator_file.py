"""calibrator.json belongs to one bundle, comes back as it was, and says what is wrong when it does not."""

import json

import numpy as np
import pytest
import torch

from donkey_aicc.bundle import Bundle, Nets, save_bundle
from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.calibrator_file import load_calibrator, save_calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.manifest import Manifest
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.safety_cnn import SafetyCNN
from donkey_aicc.nets.vae import VAE
from donkey_aicc.score_table import HORIZONS
from tests.synthetic_scores import synthetic_table


def make_bundle(folder, seed):
    torch.manual_seed(seed)
    manifest = Manifest(horizons=list(HORIZONS), action_stats={"mean": [0.0, 0.3], "std": [0.2, 0.1]})
    save_bundle(folder, Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))), manifest)
    return Bundle.load(folder)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("bundles") / "one", 0)


@pytest.fixture(scope="module")
def calibrator():
    return make_calibrator("temperature").fit(synthetic_table(np.random.default_rng(0)))


def test_comes_back_as_it_was(bundle, calibrator):
    save_calibrator(bundle, calibrator, {"method": "temperature"})
    p = np.linspace(0.05, 0.95, 7)
    np.testing.assert_array_equal(load_calibrator(bundle).calibrate(p, {}, 10), calibrator.calibrate(p, {}, 10))


def test_another_bundles_calibrator_is_refused(tmp_path, bundle, calibrator):
    other = make_bundle(tmp_path / "other", 1)
    save_calibrator(bundle, calibrator, {})
    other.calibrator_path.write_bytes(bundle.calibrator_path.read_bytes())
    with pytest.raises(AiccError, match="other weights; make it again with: donkey-aicc calibrate"):
        load_calibrator(other)


def test_missing_and_damaged_files_say_what_to_do(bundle, calibrator):
    bundle.calibrator_path.unlink(missing_ok=True)
    with pytest.raises(AiccError, match="has no calibrator; make it again with: donkey-aicc calibrate"):
        load_calibrator(bundle)
    save_calibrator(bundle, calibrator, {})
    text = bundle.calibrator_path.read_text()
    bundle.calibrator_path.write_text(text[: len(text) // 2])
    with pytest.raises(AiccError, match="is damaged"):
        load_calibrator(bundle)
    stored = json.loads(text) | {"kind": "surprise"}
    bundle.calibrator_path.write_text(json.dumps(stored))
    with pytest.raises(AiccError, match="surprise"):
        load_calibrator(bundle)
