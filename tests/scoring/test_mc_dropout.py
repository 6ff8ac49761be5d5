import numpy as np
import torch

from donkey_aicc.nets.camera_nets import SafetyCNN
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.scoring.batch_scoring import McDropout


def test_it_agrees_with_torchs_own_dropout(bundle, drive):
    """Both estimate the same spread; with many passes they come close."""
    images = images_to_array(drive(2).images)
    net = SafetyCNN(len(bundle.horizons)).eval()
    net.load_state_dict(bundle.safety.state_dict())
    ours = McDropout(net, passes=200).spread(images, np.random.default_rng(0))
    net.dropout.train()
    torch.manual_seed(0)
    with torch.no_grad():
        theirs = torch.stack([torch.sigmoid(net(torch.from_numpy(images))) for _ in range(200)]).std(dim=0)
    np.testing.assert_allclose(ours, theirs, rtol=0.25)


def test_same_generator_same_spread_whatever_the_batch(bundle, drive):
    images = images_to_array(drive(3).images)
    together = McDropout(bundle.safety).spread(images, np.random.default_rng(4))
    alone = McDropout(bundle.safety).spread(images[1:2], np.random.default_rng(4))
    np.testing.assert_allclose(together[1:2], alone, rtol=1e-4, atol=1e-6)
    assert (together > 0).all()
