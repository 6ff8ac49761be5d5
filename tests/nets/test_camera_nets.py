import torch

from donkey_aicc.nets.camera_nets import VAE, PilotNet, SafetyCNN, convolution_channels


def test_encodes_to_a_latent_map_and_decodes_to_an_image_in_range():
    vae = VAE().eval()
    mean, logvar = vae.encode(torch.rand(2, 3, 64, 64))
    assert mean.shape == logvar.shape == (2, 64, 4, 4)
    images = vae.decode(50 * torch.randn(2, 64, 4, 4))
    assert images.shape == (2, 3, 64, 64)
    assert images.min() >= 0.0 and images.max() <= 1.0


def test_has_about_five_and_a_half_million_parameters():
    count = sum(parameter.numel() for parameter in VAE().parameters())
    assert abs(count / 5.5e6 - 1) < 0.1


def test_halves_the_side_four_times():
    side, sides = 64, []
    vae = VAE().eval()
    x = torch.rand(1, 3, side, side)
    for stage in vae.encoder[:4]:
        x = stage(x)
        sides.append(x.shape[-1])
    assert sides == [32, 16, 8, 4]


def test_one_frame_alone_gives_the_same_latent_as_in_a_batch():
    vae = VAE().eval()
    images = torch.rand(4, 3, 64, 64)
    together, alone = vae.encode(images)[0], torch.cat([vae.encode(image[None])[0] for image in images])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


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


def test_one_command_per_frame_within_the_limits():
    torch.manual_seed(0)
    commands = PilotNet()(100 * torch.rand(5, 3, 64, 64))
    assert commands.shape == (5, 2)
    assert commands.abs().max() <= 1


def test_small_enough_for_a_car():
    assert 100_000 < sum(weight.numel() for weight in PilotNet().parameters()) < 250_000
