"""The engine gives torch's numbers, from the weights alone: the one place where training's forward pass and the graphs meet."""

from dataclasses import replace

import joblib
import numpy as np
import pytest
import torch
from onnx import ModelProto
from torch import nn

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics, Masks
from donkey_aicc.nets.engine import StepMasks, initial_state
from donkey_aicc.nets.manifest import HISTORY, NO_PREDICTOR, Manifest, read_manifest
from donkey_aicc.nets.onnx_nets import NET_OF
from donkey_aicc.nets.preprocess import LAGS, input_channels
from donkey_aicc.nets.trained_nets import Nets, load_nets, save_bundle
from tests.nets.rewriting import rewrite_weights

RNG = np.random.default_rng(0)
IMAGES = RNG.random((5, 3, 64, 64), dtype=np.float32)
TOLERANCE = 1e-4
SAMPLES, LANES = 3, 2


def as_trained(net):
    """Norms and statistics that are not the identity."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.3, 0.3)
            module.running_var.uniform_(0.5, 2.0)
        if isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.3, 0.3)
    if isinstance(net, LatentDynamics):
        net.latent_mean.uniform_(-0.3, 0.3)
        net.latent_std.uniform_(0.5, 1.5)
    return net.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def nets():
    torch.manual_seed(3)
    return Nets(as_trained(VAE()), as_trained(LatentDynamics()).half().float(), as_trained(SafetyCNN(3)))


@pytest.fixture(scope="module")
def folder(nets, tmp_path_factory):
    path = tmp_path_factory.mktemp("engine") / "bundle"
    save_bundle(path, nets, Manifest(horizons=[1, 5, 10], action_stats={"mean": [0.0, 0.3], "std": [0.2, 0.05]}, context=6))
    assert read_manifest(path).files["dynamics.safetensors"]["dtype"] == "float16"  # both kinds of storage are met
    return path


@pytest.fixture(scope="module")
def bundle(folder):
    return Bundle.load(folder)


def assert_close(ours, theirs):
    np.testing.assert_allclose(ours, np.asarray(theirs), atol=TOLERANCE, rtol=0)


@torch.inference_mode()
def test_encoder_decoder_and_predictor_equal_torchs(nets, bundle):
    x = torch.from_numpy(IMAGES)
    latents = nets.vae.encode(x)[0]
    assert_close(bundle.encode(IMAGES), latents)
    assert_close(bundle.decode(latents.numpy()), nets.vae.decode(latents))
    for ours, theirs in zip(bundle.predict(IMAGES), nets.safety.features_and_logits(x), strict=True):
        assert_close(ours, theirs)


@torch.inference_mode()
def test_a_predictor_with_history_equals_torchs(nets, bundle, tmp_path):
    safety = as_trained(SafetyCNN(3, (8, 16, 40, 24), input_channels(LAGS)))  # and of other widths
    save_bundle(tmp_path / "history", replace(nets, safety=safety), replace(bundle.manifest, predictor=HISTORY, lags=list(LAGS)))
    x = RNG.random((4, input_channels(LAGS), 64, 64), dtype=np.float32)
    history = Bundle.load(tmp_path / "history")
    for found in (safety, load_nets(history).safety):
        for ours, theirs in zip(history.predict(x), found.features_and_logits(torch.from_numpy(x)), strict=True):
            assert_close(ours, theirs)


@torch.inference_mode()
def test_dropout_of_the_predictor_equals_torchs(nets, bundle):
    masks = [(RNG.random((4, 1, size)) < 0.7).astype(np.float32) / 0.7 for size in (512, 128)]
    first, features = map(torch.from_numpy, masks)
    seen = torch.relu(nets.safety.second(nets.safety.seen(torch.from_numpy(IMAGES)) * first))
    assert_close(bundle.predict_dropped(IMAGES, *masks), nets.safety.third(seen * features))


@torch.inference_mode()
def roll_both(nets, bundle, steps):
    """(z, state) of the graph and of LatentDynamics.step, fed with their own predictions and the same masks."""
    rng, net = np.random.default_rng(2), nets.dynamics
    state, plain = initial_state(LANES, SAMPLES), net.initial_state(LANES * SAMPLES)
    recurrent = rng.uniform(0, 2, (2, SAMPLES, 128)).astype(np.float32)
    plain_z = torch.from_numpy(rng.normal(size=(LANES * SAMPLES, 64, 4, 4)).astype(np.float32))
    z = plain_z.permute(2, 3, 0, 1).reshape(16, LANES, SAMPLES, 64).numpy()
    for _ in range(steps):
        action = rng.normal(size=(LANES, 2)).astype(np.float32)
        between = rng.uniform(0, 2, (LANES, SAMPLES, 128)).astype(np.float32)
        z, state = bundle.step(z, bundle.command(action), state, StepMasks(recurrent, between))
        each_sample = [torch.from_numpy(mask).repeat(LANES, 1)[..., None, None] for mask in recurrent]
        masks = Masks(tuple(each_sample), torch.from_numpy(between).flatten(0, 1)[..., None, None])
        plain_z, plain = net.step(plain_z, torch.from_numpy(action).repeat_interleave(SAMPLES, 0), plain, masks)
    return (z, *state), (plain_z, *plain[0], *plain[1])


def test_a_rollout_equals_torchs(nets, bundle):
    for ours, theirs in zip(*roll_both(nets, bundle, steps=10), strict=True):
        assert_close(ours.reshape(4, 4, LANES * SAMPLES, -1).transpose(2, 3, 0, 1), theirs)


def test_without_labels_there_is_no_predictor(nets, bundle, tmp_path):
    save_bundle(tmp_path / "mute", replace(nets, safety=None), replace(bundle.manifest, predictor=NO_PREDICTOR))
    mute = Bundle.load(tmp_path / "mute")
    assert not mute.has_predictor and mute.encode(IMAGES).shape == (5, 64, 4, 4)
    with pytest.raises(AiccError, match="trained without labels.*no safety predictor"):
        mute.predict(IMAGES)


@pytest.mark.parametrize("name", NET_OF)
def test_a_graph_is_what_the_onnx_package_would_write_and_holds_no_weights(bundle, name):
    content = bundle._graph(name).content
    model = ModelProto.FromString(content)
    assert model.SerializeToString(deterministic=True) == content and len(content) < 60_000
    assert [each.version for each in model.opset_import] == [18] and model.graph.node


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("safety", lambda w: w.pop("third.bias"), "it has no third.bias"),
        ("safety", lambda w: w.update({"third.bias": torch.zeros(4)}), r"third.bias must be numbers of shape \(3,\)"),
        (
            "vae",
            lambda w: w.update({"decoder.9.weight": torch.zeros(12, 32, 5, 5)}),
            r"decoder.9.weight must be .* \(12, 32, 3, 3\)",
        ),
        ("dynamics", lambda w: w.update({"latent_std": torch.zeros(64)}), r"latent_std must be .* \(1, 64, 1, 1\)"),
        ("dynamics", lambda w: w.update({"head.bias": torch.zeros(128).int()}), "head.bias must be .*int32"),
        ("vae", lambda w: w.update({"extra": torch.zeros(1)}), "it has extra too"),
    ],
)
def test_weights_that_do_not_fit_are_refused_when_the_bundle_is_loaded(nets, bundle, tmp_path, file, change, said):
    save_bundle(tmp_path / "other", nets, bundle.manifest)
    rewrite_weights(tmp_path / "other", f"{file}.safetensors", change)
    with pytest.raises(AiccError, match=f"{file}.safetensors does not fit this version's network: .*{said}"):
        Bundle.load(tmp_path / "other")


def test_a_worker_needs_no_folder_and_makes_its_sessions_once(nets, bundle, tmp_path):
    save_bundle(tmp_path / "sent", nets, bundle.manifest)
    sent = Bundle.load(tmp_path / "sent")
    joblib.dump(sent, tmp_path / "in_between")
    for file in (tmp_path / "sent").iterdir():
        file.unlink()
    arrived, again = (joblib.load(tmp_path / "in_between") for _ in range(2))
    np.testing.assert_array_equal(arrived.encode(IMAGES), bundle.encode(IMAGES))
    assert arrived is again
