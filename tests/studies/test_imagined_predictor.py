from dataclasses import replace

import numpy as np
import pytest
import torch

from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.engine import initial_state
from donkey_aicc.nets.manifest import HISTORY, Manifest
from donkey_aicc.nets.preprocess import LAGS, input_channels, without_past
from donkey_aicc.nets.trained_nets import Nets, save_bundle
from studies.imagined_predictor import ImaginedPredictor, from_maps

MANIFEST = Manifest(horizons=[1, 2, 4], action_stats={"mean": [0.0, 0.3], "std": [0.2, 0.05]})


@pytest.fixture(scope="module")
def nets():
    torch.manual_seed(0)
    return Nets(VAE().eval(), LatentDynamics().eval(), SafetyCNN(3).eval())


@torch.no_grad()
def test_equals_rolling_decoding_and_classifying_by_hand(nets, tmp_path):
    save_bundle(tmp_path / "bundle", nets, MANIFEST)
    z, action, state = torch.randn(2, 64, 4, 4), torch.randn(2, 2), nets.dynamics.initial_state(2)
    predictor = ImaginedPredictor(Bundle.load(tmp_path / "bundle"))
    p = predictor.predict(from_maps(z.numpy()), initial_state(2, 1), action.numpy())
    assert p.shape == (2, 3)
    for _ in range(4):
        z, state = nets.dynamics.step(z, action, state)
    by_hand = torch.sigmoid(nets.safety(nets.vae.decode(z))[:, 0])
    np.testing.assert_allclose(p[:, 2], by_hand, atol=1e-5)


def test_the_imagined_predictor_asks_about_starts_of_sequences(nets, tmp_path):
    safety = SafetyCNN(3, inputs=input_channels(LAGS)).eval()
    save_bundle(tmp_path / "bundle", replace(nets, safety=safety), replace(MANIFEST, predictor=HISTORY, lags=list(LAGS)))
    rng = np.random.default_rng(0)
    frames, action = rng.random((6, 3, 64, 64), dtype=np.float32), np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
    seen = ImaginedPredictor(Bundle.load(tmp_path / "bundle"))._input(frames, action)
    np.testing.assert_array_equal(seen, without_past(seen))
    np.testing.assert_array_equal(seen[:, :3], frames)
    np.testing.assert_array_equal(seen[:, 9:12, 0, 0], np.tile(action[:, :1], (3, 3)))
