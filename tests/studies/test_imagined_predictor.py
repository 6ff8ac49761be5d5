import pytest
import torch

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.preprocess import LAGS, input_channels, without_past
from studies.imagined_predictor import ImaginedPredictor


@pytest.fixture
def predictor() -> ImaginedPredictor:
    torch.manual_seed(0)
    return ImaginedPredictor(VAE().eval(), LatentDynamics().eval(), SafetyCNN(3).eval(), (1, 2, 4))


def test_equals_rolling_decoding_and_classifying_by_hand(predictor):
    z, action = torch.randn(2, 64, 4, 4), torch.randn(2, 2)
    state = predictor.dynamics.initial_state(2)
    p = predictor.predict(z, state, action)
    assert p.shape == (2, 3)
    with torch.no_grad():
        for _ in range(4):
            z, state = predictor.dynamics.step(z, action, state)
        by_hand = torch.sigmoid(predictor.safety(predictor.vae.decode(z))[:, 0])
    torch.testing.assert_close(p[:, 2], by_hand, rtol=1e-4, atol=1e-5)


def test_refuses_horizons_out_of_order(predictor):
    with pytest.raises(ConfigError, match="increasing"):
        ImaginedPredictor(predictor.vae, predictor.dynamics, predictor.safety, (5, 1))


def test_the_imagined_predictor_asks_about_starts_of_sequences():
    net = SafetyCNN(2, inputs=input_channels(LAGS)).eval()
    predictor = ImaginedPredictor(VAE().eval(), LatentDynamics().eval(), net, (1, 2))
    frames, action = torch.rand(4, 3, 64, 64), torch.tensor([[0.1, 0.2], [0.3, 0.4]])
    seen = predictor._input(frames, action)
    assert torch.equal(seen, without_past(seen)) and torch.equal(seen[:, :3], frames)
    assert seen[:, 9:12, 0, 0].tolist() == action[:, :1].repeat(2, 3).tolist()
