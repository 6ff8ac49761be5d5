"""The predictor's input with history."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import HISTORY, Manifest, write_manifest
from donkey_aicc.nets.preprocess import (
    LAGS,
    NO_HISTORY,
    STD_FLOOR,
    ActionStats,
    History,
    as_recorded,
    frames_in,
    images_to_tensor,
    input_channels,
    lagged,
    stacked,
    to_model_image,
    without_past,
)
from donkey_aicc.nets.trained_nets import Nets, load_nets, save_bundle


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


STATS = ActionStats(np.array([0.1, 0.3]), np.array([0.5, 0.1]))


def frames_and_commands(count=8, lanes=2):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, lanes, 64, 64, 3)).astype(np.uint8)
    return images, rng.uniform(-1, 1, (count, lanes, 2)).astype(np.float32)


def test_one_frame_alone_is_the_plain_image():
    images, commands = frames_and_commands()
    seen = History(NO_HISTORY, None).push(images[0], commands[0])
    np.testing.assert_array_equal(seen, images_to_tensor(images[0]).numpy())
    assert frames_in(input_channels(NO_HISTORY)) == 1 and frames_in(input_channels(LAGS)) == len(LAGS)


def test_frames_come_newest_first_and_the_first_stands_for_what_was_before_it():
    images, commands = frames_and_commands()
    history = History((0, 2, 5), STATS)
    inputs = [history.push(*pair) for pair in zip(images, commands, strict=True)]
    for t, seen in enumerate(inputs):
        for place, number in enumerate([t, max(t - 2, 0), max(t - 5, 0)]):
            np.testing.assert_array_equal(seen[:, 3 * place : 3 * place + 3], images_to_tensor(images[number]).numpy())
            planes = seen[:, 9 + place : 10 + place]
            np.testing.assert_array_equal(
                planes, np.broadcast_to(STATS.normalise(commands[number])[:, :1, None, None], planes.shape)
            )
    assert lagged(np.array([0, 7]), LAGS).tolist() == [[0, 0, 0], [7, 5, 2]]


def test_lanes_that_go_on_keep_their_own_past():
    images, commands = frames_and_commands()
    both, second = History(LAGS, STATS), History(LAGS, STATS)
    for t in range(4):
        both.push(images[t], commands[t])
        second.push(images[t][1:], commands[t][1:])
    both.keep(np.array([1]))
    np.testing.assert_array_equal(both.push(images[4][1:], commands[4][1:]), second.push(images[4][1:], commands[4][1:]))


def test_without_its_past_a_frame_is_the_start_of_a_sequence():
    images, commands = frames_and_commands()
    history = History(LAGS, STATS)
    inputs = [history.push(*pair) for pair in zip(images, commands, strict=True)]
    start = History(LAGS, STATS).push(images[7], commands[7])
    np.testing.assert_array_equal(without_past(inputs[7]), start)
    assert torch.equal(without_past(torch.from_numpy(inputs[7])), torch.from_numpy(start))


def test_a_bundle_knows_its_history_and_refuses_another(tmp_path):
    net = SafetyCNN(3, inputs=input_channels(LAGS)).eval()
    manifest = Manifest(horizons=[1, 2, 3], action_stats=STATS.to_json(), predictor=HISTORY, lags=list(LAGS))
    written = save_bundle(tmp_path / "b", Nets(VAE(), LatentDynamics(), net), manifest)
    bundle = Bundle.load(tmp_path / "b")
    images, commands = frames_and_commands(3, 1)
    x = torch.from_numpy(stacked(images.swapaxes(0, 1), commands.swapaxes(0, 1), bundle.action_stats))
    assert bundle.lags == LAGS and torch.allclose(load_nets(bundle).safety(x), net(x))
    write_manifest(tmp_path / "b", replace(written, lags=[0]))
    with pytest.raises(AiccError, match=r"convolutions.0.0.weight must be .* \(16, 3, 3, 3\), got"):
        Bundle.load(tmp_path / "b")
    for bad in ([], [1, 2], [0, 5, 2], [0, 1.5], "02", [0, 4000], None):
        write_manifest(tmp_path / "b", replace(written, lags=bad))
        with pytest.raises(AiccError, match="lags must be"):
            Bundle.load(tmp_path / "b")
