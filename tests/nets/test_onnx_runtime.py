"""A bundle on ONNX Runtime gives torch's numbers, from the exported files alone."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from onnx import ModelProto, helper
from torch import nn

from donkey_aicc.errors import AiccError
from donkey_aicc.files import sha256_of
from donkey_aicc.nets.bundle import Bundle, Nets, save_bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import HISTORY, NO_PREDICTOR, Manifest, read_manifest
from donkey_aicc.nets.onnx_export import export_bundle
from donkey_aicc.nets.preprocess import LAGS, input_channels
from donkey_aicc.nets.runtime import open_runtime
from donkey_aicc.nets.torch_runtime import TorchRuntime
from donkey_aicc.scoring.settings import GRADES, ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 64, 64, 3)).astype(np.uint8)
ACTIONS = RNG.uniform(-0.5, 0.5, (12, 2)).astype(np.float32)
SETTINGS = ScoreSettings(samples=6, rollout_steps=6, rollout_every=3, context=6)


def as_trained(net):
    """Norms and statistics that are not the identity, weights that float16 can hold."""
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
def folder(tmp_path_factory):
    torch.manual_seed(3)
    path = tmp_path_factory.mktemp("exported") / "bundle"
    nets = Nets(as_trained(VAE()), as_trained(LatentDynamics()).half().float(), as_trained(SafetyCNN(3)))
    save_bundle(path, nets, Manifest(horizons=[1, 5, 10], action_stats={"mean": [0.0, 0.3], "std": [0.2, 0.05]}, context=6))
    assert read_manifest(path).files["dynamics.safetensors"]["dtype"] == "float16"  # both kinds of storage are met
    export_bundle(path, IMAGES, ACTIONS)
    return path


@pytest.mark.parametrize("grade", GRADES)
def test_scores_equal_torchs_at_every_grade(folder, grade):
    settings = SETTINGS.at_grade(grade)
    ours, theirs = StreamScorer(open_runtime(folder), settings), StreamScorer(Bundle.load(folder), settings)
    for t in range(len(IMAGES)):
        found, expected = (scorer.step(IMAGES[t : t + 1], ACTIONS[t : t + 1]) for scorer in (ours, theirs))
        for name in ("rho_raw", "features", "half_rollout", "latent", "frame_stats"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-4, err_msg=name)
    assert found.valid[0]


def test_a_predictor_with_history_equals_torchs(folder, tmp_path):
    bundle = Bundle.load(folder)
    safety = as_trained(SafetyCNN(3, inputs=input_channels(LAGS)))
    manifest = replace(bundle.manifest, predictor=HISTORY, lags=list(LAGS), onnx={})
    save_bundle(tmp_path / "history", Nets(bundle.vae, bundle.dynamics, safety), manifest)
    export_bundle(tmp_path / "history", IMAGES, ACTIONS)
    runtime, expected = open_runtime(tmp_path / "history", "onnx"), TorchRuntime(Bundle.load(tmp_path / "history"))
    x = RNG.random((4, input_channels(LAGS), 64, 64), dtype=np.float32)
    for ours, theirs in zip(runtime.predict(x), expected.predict(x), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_without_labels_there_is_no_predictor_to_export(folder, tmp_path):
    bundle = Bundle.load(folder)
    nets = Nets(bundle.vae, bundle.dynamics, None)
    save_bundle(tmp_path / "mute", nets, replace(bundle.manifest, predictor=NO_PREDICTOR, onnx={}))
    export_bundle(tmp_path / "mute", IMAGES, ACTIONS)
    assert "predictor.onnx" not in read_manifest(tmp_path / "mute").onnx
    assert not open_runtime(tmp_path / "mute", "onnx").has_predictor


def test_the_graphs_hold_no_weights_of_their_own(folder):
    assert sum((folder / file).stat().st_size for file in read_manifest(folder).onnx) < 200_000


def test_exporting_again_changes_no_weight_and_no_graph(folder):
    before = read_manifest(folder)
    export_bundle(folder, IMAGES, ACTIONS)
    assert read_manifest(folder) == before and not list(folder.glob(".export.*"))


def test_the_runtime_is_chosen_by_what_is_there(folder, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    assert [open_runtime(copied, kind).name for kind in ("auto", "onnx", "torch")] == ["onnx", "onnx", "torch"]
    manifest = json.loads((copied / "manifest.json").read_text())
    del manifest["onnx"]  # as bundles were before there was an export
    (copied / "manifest.json").write_text(json.dumps(manifest))
    assert open_runtime(copied).name == "torch"
    with pytest.raises(AiccError, match="has no ONNX files; make them with: donkey-aicc export"):
        open_runtime(copied, "onnx")
    with pytest.raises(AiccError, match="AICC_RUNTIME must be one of"):
        open_runtime(copied, "tflite")


def test_changed_and_missing_graphs_are_refused(folder, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    (copied / "step.onnx").write_bytes(b"x" * (copied / "step.onnx").stat().st_size)
    with pytest.raises(AiccError, match=r"step.onnx: sha256 differs"):
        open_runtime(copied)
    (copied / "step.onnx").unlink()
    with pytest.raises(AiccError, match=r"lacks step.onnx"):
        open_runtime(copied)


def with_graph(folder, copied, file, content):
    """A stranger's bundle: another graph, and a manifest that has its hash."""
    shutil.copytree(folder, copied)
    (copied / file).write_bytes(content)
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["onnx"][file] = {"sha256": sha256_of(copied / file), "bytes": len(content)}
    (copied / "manifest.json").write_text(json.dumps(manifest))
    return copied


def endless():
    """A predictor that never answers, written with the onnx package."""
    true, number = (helper.make_tensor(name, kind, [], [value]) for name, kind, value in (("c", 9, True), ("n", 7, 2**62)))
    body = [helper.make_node("Identity", ["going"], ["goes_on"]), helper.make_node("Identity", ["x"], ["y"])]
    sizes = [
        helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (("i", 7, []), ("going", 9, []), ("x", 1, None))
    ]
    gives = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (("goes_on", 9, []), ("y", 1, None))]
    loop = helper.make_node("Loop", ["n", "c", "images"], ["logits"], body=helper.make_graph(body, "body", sizes, gives))
    given = [helper.make_tensor_value_info("images", 1, ["batch", 3, 64, 64])]
    graph = helper.make_graph([loop], "predictor", given, [helper.make_tensor_value_info("logits", 1, None)], [true, number])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def elsewhere(content):
    """The graph, with its weights taken from a file outside of the bundle."""
    model = ModelProto.FromString(content)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = "../../secret" if entry.key == "location" else entry.value
    return model.SerializeToString()


def padded(content):
    """The graph, with a border that makes its pictures fill the memory."""
    model = ModelProto.FromString(content)
    pads = next(each for node in model.graph.node for each in node.attribute if each.name == "pads")
    pads.ints[:] = [10**6] * 4
    return model.SerializeToString()


@pytest.mark.parametrize("change", [lambda _: endless(), elsewhere, padded, lambda content: content + b"\x12\x00"])
def test_a_strangers_graph_is_refused_before_it_runs(folder, tmp_path, change):
    copied = with_graph(folder, tmp_path / "copied", "predictor.onnx", change((folder / "predictor.onnx").read_bytes()))
    with pytest.raises(AiccError, match=r"predictor.onnx is not the graph that this version of donkey_aicc writes for safety"):
        open_runtime(copied)


def test_a_bundle_that_lacks_a_graph_is_refused_at_the_start_and_not_in_the_middle_of_a_drive(folder, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    manifest = json.loads((copied / "manifest.json").read_text())
    del manifest["onnx"]["step.onnx"]
    (copied / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(AiccError, match="has no step.onnx; make it with: donkey-aicc export"):
        open_runtime(copied)


@pytest.mark.parametrize("file", ["encoder.onnx", "decoder.onnx", "predictor.onnx", "command.onnx", "step.onnx"])
def test_the_files_are_those_that_the_onnx_package_would_write(folder, file):
    content = (folder / file).read_bytes()
    model = ModelProto.FromString(content)
    assert model.SerializeToString(deterministic=True) == content
    assert [each.version for each in model.opset_import] == [18] and model.graph.node


def test_a_graph_that_differs_is_not_kept(folder, tmp_path, monkeypatch):
    from donkey_aicc.nets import onnx_nets

    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    monkeypatch.setattr(onnx_nets, "NORM_EPS", 0.5)
    with pytest.raises(AiccError, match="on ONNX Runtime differs from torch by .*; not exported"):
        export_bundle(copied, IMAGES, ACTIONS)
    monkeypatch.undo()
    assert read_manifest(copied) == read_manifest(folder) and open_runtime(copied).name == "onnx"


def test_what_a_killed_export_left_goes_with_the_next(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / ".export.999999999-abc").mkdir()
    export_bundle(copy, IMAGES, ACTIONS)
    assert sorted(path.name for path in copy.iterdir()) == sorted(path.name for path in folder.iterdir())
