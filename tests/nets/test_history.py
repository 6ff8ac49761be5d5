"""The predictor's input with history."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle, Nets, save_bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import HISTORY, Manifest, write_manifest
from donkey_aicc.nets.preprocess import (
    LAGS,
    NO_HISTORY,
    ActionStats,
    History,
    frames_in,
    images_to_tensor,
    input_channels,
    lagged,
    stacked,
    without_past,
)

STATS = ActionStats(np.array([0.1, 0.3]), np.array([0.5, 0.1]))


def frames_and_commands(count=8, lanes=2):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, lanes, 64, 64, 3)).astype(np.uint8)
    return images, rng.uniform(-1, 1, (count, lanes, 2)).astype(np.float32)


def test_one_frame_alone_is_the_plain_image():
    images, commands = frames_and_commands()
    seen = History(NO_HISTORY, STATS).push(images[0], commands[0])
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
    assert bundle.lags == LAGS and torch.allclose(bundle.safety(x), net(x))
    write_manifest(tmp_path / "b", replace(written, lags=[0]))
    with pytest.raises(AiccError, match="takes 12 input channels"):
        Bundle.load(tmp_path / "b")
    for bad in ([], [1, 2], [0, 5, 2], [0, 1.5], "02", [0, 4000], None):
        write_manifest(tmp_path / "b", replace(written, lags=bad))
        with pytest.raises(AiccError, match="lags must be"):
            Bundle.load(tmp_path / "b")
