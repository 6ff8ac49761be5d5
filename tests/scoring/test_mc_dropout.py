import numpy as np
import torch

from donkey_aicc.nets.preprocess import images_to_tensor
from donkey_aicc.nets.safety_cnn import SafetyCNN
from donkey_aicc.scoring.mc_dropout import mc_dropout_std


def test_it_agrees_with_torchs_own_dropout(bundle, drive):
    """Both estimate the same spread; with many passes they come close."""
    images = images_to_tensor(drive(2).images)
    net = SafetyCNN(len(bundle.horizons)).eval()
    net.load_state_dict(bundle.safety.state_dict())
    ours = mc_dropout_std(net, images, np.random.default_rng(0), passes=200)
    net.dropout.train()
    torch.manual_seed(0)
    with torch.no_grad():
        theirs = torch.stack([torch.sigmoid(net(images)) for _ in range(200)]).std(dim=0)
    torch.testing.assert_close(ours, theirs, rtol=0.25, atol=0)


def test_same_generator_same_spread_whatever_the_batch(bundle, drive):
    images = images_to_tensor(drive(3).images)
    together = mc_dropout_std(bundle.safety, images, np.random.default_rng(4))
    alone = mc_dropout_std(bundle.safety, images[1:2], np.random.default_rng(4))
    torch.testing.assert_close(together[1:2], alone)
    assert (together > 0).all()
