import torch

from donkey_aicc.nets.camera_nets import VAE


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
