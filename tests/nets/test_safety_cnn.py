import torch

from donkey_aicc.nets.camera_nets import CHANNELS, SafetyCNN, convolution_channels


def test_gives_one_logit_per_horizon_and_the_features_behind_it():
    net = SafetyCNN(horizons=7).eval()
    images = torch.rand(3, 3, 64, 64)
    features, logits = net.features_and_logits(images)
    assert features.shape == (3, 128) and logits.shape == (3, 7)
    assert (features >= 0).all()
    torch.testing.assert_close(logits, net(images))
    torch.testing.assert_close(net.third(features), logits)


def test_has_about_two_point_six_million_parameters():
    count = sum(parameter.numel() for parameter in SafetyCNN().parameters())
    assert abs(count / 2.6e6 - 1) < 0.1


def test_dropout_works_in_training_mode_only():
    net, images = SafetyCNN(), torch.rand(4, 3, 64, 64)
    net.train()
    assert not torch.equal(net(images), net(images))
    net.eval()
    assert torch.equal(net(images), net(images))


def test_the_widths_can_be_read_off_the_weights():
    net = SafetyCNN(3, channels=(8, 4, 2, 16))
    shuffled = dict(reversed(net.state_dict().items()))
    assert convolution_channels(shuffled) == (8, 4, 2, 16)
    SafetyCNN(3, convolution_channels(shuffled)).load_state_dict(shuffled)


def test_weights_of_another_net_have_the_usual_widths():
    assert convolution_channels({"encoder.weight": torch.zeros(5, 3, 3, 3)}) == CHANNELS
