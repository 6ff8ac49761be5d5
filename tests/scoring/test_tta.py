import numpy as np
import pytest
import torch

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.preprocess import images_to_tensor
from donkey_aicc.scoring import tta
from donkey_aicc.scoring.tta import input_views, predict_tta, tta_views


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def images(drive):
    return images_to_tensor(drive(4).images)


def test_the_first_view_is_the_frame_itself(images):
    views = tta_views(images, rng())
    assert views.shape == (4, 9, 3, 64, 64)
    assert torch.equal(views[:, 0], images)
    assert views.min() >= 0 and views.max() <= 1
    assert all((views[:, v] - images).abs().mean() > 1e-3 for v in range(1, 9))


def test_same_seed_same_views(images):
    assert torch.equal(tta_views(images, rng(3)), tta_views(images, rng(3)))
    assert not torch.equal(tta_views(images, rng(3)), tta_views(images, rng(4)))


def test_a_frames_views_do_not_depend_on_its_batch(images):
    torch.testing.assert_close(tta_views(images, rng())[2:3], tta_views(images[2:3], rng()))


def test_views_follow_the_definition(images):
    """Contrast about the mean grey, then saturation about the pixel's grey, then noise, one after the other."""
    generator, views = rng(1), tta_views(images, rng(1))
    contrast, saturation = generator.uniform(0.7, 1.3, size=(2, 8)).astype(np.float32)
    sigma = generator.uniform(0.0, 0.05, size=8).astype(np.float32)
    starts = generator.integers(tta._NOISE_NUMBERS - 3 * 64 * 64, size=8)
    numbers = tta._noise(images.device).numpy()
    noise = [numbers[start : start + 3 * 64 * 64].reshape(3, 64, 64) for start in starts]

    def grey(picture):
        return 0.299 * picture[0] + 0.587 * picture[1] + 0.114 * picture[2]

    for number in range(8):
        for image, view in zip(images.numpy(), views[:, number + 1].numpy(), strict=True):
            stretched = grey(image).mean() + contrast[number] * (image - grey(image).mean())
            coloured = grey(stretched) + saturation[number] * (stretched - grey(stretched))
            np.testing.assert_allclose(view, np.clip(coloured + sigma[number] * noise[number], 0, 1), atol=1e-5)


def test_the_noise_is_gaussian_and_another_in_every_view():
    grey = torch.full((1, 3, 64, 64), 0.5)
    noise = (tta_views(grey, rng(), views=30) - 0.5)[0, 1:].flatten(1)
    noise = noise[noise.std(dim=1) > 0.005]
    standard = (noise - noise.mean(dim=1, keepdim=True)) / noise.std(dim=1, keepdim=True)
    assert len(noise) > 20
    assert noise.std(dim=1).max() < 0.05 * 1.02
    assert ((standard.abs() < 1).float().mean(dim=1) - 0.683).abs().max() < 0.02
    assert (torch.corrcoef(standard) - torch.eye(len(noise))).abs().max() < 0.06


def test_no_view_is_flipped():
    half = torch.zeros(1, 3, 64, 64)
    half[..., 32:] = 1.0
    views = tta_views(half, rng(), views=30)
    assert (views[..., 32:].mean(dim=(-3, -2, -1)) > views[..., :32].mean(dim=(-3, -2, -1)) + 0.3).all()


def test_probabilities_are_averaged_not_logits(bundle, images):
    result = predict_tta(bundle.safety, images, rng())
    logits = torch.stack([bundle.safety(view) for view in tta_views(images, rng()).unbind(dim=1)])
    p = torch.sigmoid(logits)
    torch.testing.assert_close(result.p_tta, p.mean(dim=0))
    torch.testing.assert_close(result.spread, p.std(dim=0, correction=0), atol=1e-6, rtol=0)
    torch.testing.assert_close(result.p_identity, p[0])
    torch.testing.assert_close(result.features, bundle.safety.features_and_logits(images)[0])


def test_one_view_is_the_plain_prediction(bundle, images):
    result = predict_tta(bundle.safety, images, rng(), views=1)
    torch.testing.assert_close(result.p_tta, torch.sigmoid(bundle.safety(images)))
    assert result.spread.abs().max() == 0


def test_no_views_are_refused(images):
    with pytest.raises(ConfigError, match="views must be >= 1, got 0"):
        tta_views(images, rng(), views=0)


def test_all_frames_of_a_history_get_the_same_view_and_the_commands_stay():
    frame = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    planes = torch.full((2, 3, 64, 64), 1.7)
    x = torch.cat([frame, frame, 0.5 * frame, planes], dim=1)
    views = input_views(x, np.random.default_rng(3), 4)
    alone = tta_views(frame, np.random.default_rng(3), 4)
    assert torch.equal(views[:, :, :3], alone) and torch.equal(views[:, :, 3:6], alone)
    assert torch.equal(views[:, :, 6:9], tta_views(0.5 * frame, np.random.default_rng(3), 4))
    assert torch.equal(views[:, 0], x) and torch.equal(views[:, :, 9:], planes[:, None].expand(-1, 4, -1, -1, -1))
