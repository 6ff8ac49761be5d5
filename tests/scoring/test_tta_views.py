import numpy as np
import pytest
import torch

from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.scoring import tta_views as tta
from donkey_aicc.scoring.tta_views import input_views, predict_tta, tta_views


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def images(drive):
    return images_to_array(drive(4).images)


def test_the_first_view_is_the_frame_itself(images):
    views = tta_views(images, rng())
    assert views.shape == (4, 9, 3, 64, 64)
    assert np.array_equal(views[:, 0], images)
    assert views.min() >= 0 and views.max() <= 1
    assert all(np.abs(views[:, v] - images).mean() > 1e-3 for v in range(1, 9))


def test_same_seed_same_views(images):
    assert np.array_equal(tta_views(images, rng(3)), tta_views(images, rng(3)))
    assert not np.array_equal(tta_views(images, rng(3)), tta_views(images, rng(4)))


def test_a_frames_views_do_not_depend_on_its_batch(images):
    np.testing.assert_allclose(tta_views(images, rng())[2:3], tta_views(images[2:3], rng()), atol=1e-6)


def test_views_follow_the_definition(images):
    """Contrast about the mean grey, then saturation about the pixel's grey, then noise, one after the other."""
    generator, views = rng(1), tta_views(images, rng(1))
    contrast, saturation = generator.uniform(0.7, 1.3, size=(2, 8)).astype(np.float32)
    sigma = generator.uniform(0.0, 0.05, size=8).astype(np.float32)
    starts = generator.integers(tta._NOISE_NUMBERS - 3 * 64 * 64, size=8)
    numbers = tta._noise()
    noise = [numbers[start : start + 3 * 64 * 64].reshape(3, 64, 64) for start in starts]

    def grey(picture):
        return 0.299 * picture[0] + 0.587 * picture[1] + 0.114 * picture[2]

    for number in range(8):
        for image, view in zip(images, views[:, number + 1], strict=True):
            stretched = grey(image).mean() + contrast[number] * (image - grey(image).mean())
            coloured = grey(stretched) + saturation[number] * (stretched - grey(stretched))
            np.testing.assert_allclose(view, np.clip(coloured + sigma[number] * noise[number], 0, 1), atol=1e-5)


def test_the_noise_is_gaussian_and_another_in_every_view():
    grey = np.full((1, 3, 64, 64), 0.5, np.float32)
    noise = (tta_views(grey, rng(), views=30) - 0.5)[0, 1:].reshape(29, -1)
    noise = noise[noise.std(axis=1) > 0.005]
    standard = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True)
    assert len(noise) > 20
    assert noise.std(axis=1).max() < 0.05 * 1.02
    assert np.abs((np.abs(standard) < 1).mean(axis=1) - 0.683).max() < 0.02
    assert np.abs(np.corrcoef(standard) - np.eye(len(noise))).max() < 0.06


def test_no_view_is_flipped():
    half = np.zeros((1, 3, 64, 64), np.float32)
    half[..., 32:] = 1.0
    views = tta_views(half, rng(), views=30)
    assert (views[..., 32:].mean(axis=(-3, -2, -1)) > views[..., :32].mean(axis=(-3, -2, -1)) + 0.3).all()


def test_probabilities_are_averaged_not_logits(nets, bundle, images):
    result = predict_tta(bundle, images, rng())
    logits = torch.stack([nets.safety(torch.from_numpy(view)) for view in tta_views(images, rng()).swapaxes(0, 1)])
    p = torch.sigmoid(logits).numpy()
    np.testing.assert_allclose(result.p_tta, p.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(result.spread, p.std(axis=0), atol=1e-6)
    np.testing.assert_allclose(result.p_identity, p[0], atol=1e-6)
    np.testing.assert_allclose(result.features, nets.safety.features_and_logits(torch.from_numpy(images))[0], atol=1e-5)


def test_one_view_is_the_plain_prediction(nets, bundle, images):
    result = predict_tta(bundle, images, rng(), views=1)
    np.testing.assert_allclose(result.p_tta, torch.sigmoid(nets.safety(torch.from_numpy(images))), atol=1e-6)
    assert np.abs(result.spread).max() == 0


def test_no_views_are_refused(images):
    with pytest.raises(ConfigError, match="views must be >= 1, got 0"):
        tta_views(images, rng(), views=0)


def test_all_frames_of_a_history_get_the_same_view_and_the_commands_stay():
    frame = rng(0).random((2, 3, 64, 64), dtype=np.float32)
    planes = np.full((2, 3, 64, 64), 1.7, np.float32)
    x = np.concatenate([frame, frame, 0.5 * frame, planes], axis=1)
    views = input_views(x, np.random.default_rng(3), 4)
    alone = tta_views(frame, np.random.default_rng(3), 4)
    assert np.array_equal(views[:, :, :3], alone) and np.array_equal(views[:, :, 3:6], alone)
    assert np.array_equal(views[:, :, 6:9], tta_views(0.5 * frame, np.random.default_rng(3), 4))
    assert np.array_equal(views[:, 0], x) and np.array_equal(views[:, :, 9:], planes[:, None].repeat(4, axis=1))
