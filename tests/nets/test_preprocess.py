import io

import numpy as np
import pytest
from PIL import Image

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.preprocess import STD_FLOOR, ActionStats, as_recorded, images_to_tensor, to_model_image


def random_frame(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    "shape", [(120, 160), (120, 160, 1), (120, 160, 3), (120, 160, 4), (720, 1280, 3), (32, 32, 3), (64, 64, 3)]
)
def test_every_kind_of_frame_becomes_a_64x64_rgb_image(shape):
    image = to_model_image(random_frame(shape))
    assert image.shape == (64, 64, 3) and image.dtype == np.uint8 and image.flags.c_contiguous and image.flags.writeable


def test_shrinking_averages_areas():
    halves = np.zeros((128, 128, 3), dtype=np.uint8)
    halves[:, ::2] = 200
    assert np.all(to_model_image(halves) == 100)


def test_grey_gives_three_equal_channels_and_alpha_is_dropped():
    colour = random_frame((120, 160, 3))
    grey = to_model_image(colour[:, :, 0])
    assert np.array_equal(grey[:, :, 0], grey[:, :, 1]) and np.array_equal(grey[:, :, 0], grey[:, :, 2])
    with_alpha = np.dstack([colour, random_frame((120, 160), seed=1)])
    assert np.array_equal(to_model_image(with_alpha), to_model_image(colour))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_float_frame_in_0_1_equals_its_uint8_twin(dtype):
    colour = random_frame((120, 160, 3))
    assert np.array_equal(to_model_image((colour / 255.0).astype(dtype)), to_model_image(colour))


def test_the_callers_frame_is_neither_changed_nor_returned():
    frame = random_frame((64, 64, 3))
    frame.setflags(write=False)
    image = to_model_image(frame)
    assert not np.shares_memory(image, frame)


def test_as_recorded_is_what_donkeycars_tub_gives_back():
    """donkeycar stores with Pillow, and we decode with OpenCV: the very same pixels, grey or in colour."""
    for frame in (random_frame((120, 160, 3)), random_frame((120, 160))):
        tub = io.BytesIO()
        Image.fromarray(frame).save(tub, "JPEG")
        assert np.array_equal(as_recorded(frame), np.asarray(Image.open(tub)))
    colour = random_frame((120, 160, 3))
    assert np.array_equal(as_recorded(np.dstack([colour, colour[:, :, 0]])), as_recorded(colour))
    assert np.array_equal(as_recorded(colour[:, :, :1]), as_recorded(colour[:, :, 0]))


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [[1, 2]],
        np.zeros((10,), np.uint8),
        np.zeros((10, 10, 2), np.uint8),
        np.zeros((2, 10, 10, 3), np.uint8),
        np.zeros((0, 10, 3), np.uint8),
        np.zeros((10, 10, 3), np.int64),
        np.full((10, 10, 3), 200.0),
        np.full((10, 10, 3), np.nan),
        np.full((10, 10, 3), -0.5),
    ],
)
def test_anything_else_is_refused_with_a_message(bad):
    for reader in (to_model_image, as_recorded):
        with pytest.raises(AiccError, match="camera frame"):
            reader(bad)


def test_tensor_is_channels_first_in_0_1():
    images = random_frame((5, 64, 64, 3))
    images.setflags(write=False)
    tensor = images_to_tensor(images)
    assert tuple(tensor.shape) == (5, 3, 64, 64) and tensor.is_contiguous()
    np.testing.assert_allclose(tensor[2, 1].numpy(), images[2, :, :, 1] / 255.0, atol=1e-6)
    with pytest.raises(AiccError, match="uint8"):
        images_to_tensor(images.astype(np.float32))


def test_constant_throttle_does_not_explode():
    actions = np.stack([np.linspace(-1, 1, 50), np.full(50, 0.3)], axis=1)
    stats = ActionStats.fit(actions)
    normal = stats.normalise(actions)
    assert stats.std[1] == np.float32(STD_FLOOR)
    assert np.abs(normal[:, 1]).max() < 1e-5 and abs(normal[:, 0].std() - 1) < 1e-5 and normal.dtype == np.float32


def test_action_statistics_survive_json():
    import json

    stats = ActionStats.fit(np.random.default_rng(0).uniform(-1, 1, (100, 2)))
    again = ActionStats.from_json(json.loads(json.dumps(stats.to_json())))
    assert np.array_equal(again.mean, stats.mean) and np.array_equal(again.std, stats.std)


@pytest.mark.parametrize(
    "stored", [{}, {"mean": [0], "std": [1]}, {"mean": [0, "x"], "std": [1, 1]}, {"mean": [0, float("nan")], "std": [1, 1]}]
)
def test_broken_action_statistics_are_refused(stored):
    with pytest.raises(AiccError, match="action statistics"):
        ActionStats.from_json(stored)


def test_fitting_on_nothing_is_refused():
    with pytest.raises(AiccError, match="N >= 1"):
        ActionStats.fit(np.empty((0, 2)))
