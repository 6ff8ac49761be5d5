"""Somebody's own safety predictor behind the engine's words: what it may be, and how a bundle knows it again."""

import json
import pickle
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import MANIFEST
from donkey_aicc.nets.own_predictor import OWN_PREDICTORS, OnnxPredictor, register_predictor
from donkey_aicc.nets.preprocess import History
from donkey_aicc.nets.use_predictor import use_predictor
from donkey_aicc.scoring.tta_views import predict_tta, sigmoid
from tests.monitor_under_test import make_bundle

pytestmark = pytest.mark.usefixtures("own_registries")


@pytest.fixture(scope="module")
def world_model(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("bundle") / "ours")


def light(frames, steering):
    p = 0.1 + 0.8 * frames[:, 0].mean(axis=(1, 2, 3))
    return np.stack([p, p**2], axis=1)


def own(world_model, folder, predict=light, name="mine", **options):
    register_predictor(name, predict, **{"horizons": (2, 9), **options})
    return Bundle.load(use_predictor(world_model, name, folder / name))


def test_it_gets_the_frames_newest_first_and_the_steering_as_sent(world_model, tmp_path):
    seen = []

    def note(frames, steering):
        seen.append((frames.copy(), steering.copy()))
        return np.full((len(frames), 2), 0.3), frames.mean(axis=(1, 2, 3))

    bundle = own(world_model, tmp_path, note, lags=(0, 1))
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 1, 64, 64, 3), dtype=np.uint8)
    history = History(bundle.lags, bundle.steering_stats)
    for number, image in enumerate(images):
        x = history.push(image, np.array([[0.1 * number, 0.5]]))
    features, logits = bundle.predict(x)
    frames, steering = seen[-1]
    assert frames.shape == (1, 2, 64, 64, 3) and frames[0] == pytest.approx(images[[2, 1], 0] / 255.0, abs=1e-6)
    assert steering[0] == pytest.approx([0.2, 0.1], abs=1e-6)
    assert sigmoid(logits) == pytest.approx(0.3) and features.shape == (1, 3) and bundle.feature_size == 3


def test_one_frame_and_all_its_views_and_steering(world_model, tmp_path):
    bundle = own(world_model, tmp_path, lambda frames, steering: np.clip(light(frames, steering) + steering, 0, 1))
    x = History(bundle.lags, bundle.steering_stats).push(np.full((1, 64, 64, 3), 128, np.uint8), np.array([[0.05, 0.0]]))
    assert x.shape == (1, bundle.input_channels, 64, 64)
    found = predict_tta(bundle, x, np.random.default_rng(0), 9)
    assert found.p_identity[0] == pytest.approx(light(np.full((1, 1, 64, 64, 3), 128 / 255), None)[0] + 0.05, abs=1e-5)
    assert found.features.shape == (1, 0)


def test_the_bundle_knows_it_again_and_refuses_others(world_model, tmp_path):
    bundle = own(world_model, tmp_path)
    assert bundle.horizons == (2, 9) and bundle.has_predictor and "safety.safetensors" not in bundle.manifest.files
    assert bundle.manifest.fingerprint != Bundle.load(world_model).manifest.fingerprint
    Bundle.load(bundle.path)
    register_predictor("mine", lambda frames, steering: light(frames, steering) * 0.98, horizons=(2, 9))
    with pytest.raises(AiccError, match="mine is not the one that the bundle was made with"):
        Bundle.load(bundle.path)
    register_predictor("mine", light, horizons=(2, 10))
    with pytest.raises(AiccError, match="horizons of the predictor mine must be the bundle's"):
        Bundle.load(bundle.path)
    del OWN_PREDICTORS["mine"]
    with pytest.raises(AiccError, match="mine is not registered here. Bundles hold no code"):
        Bundle.load(bundle.path)


def test_a_strangers_bundle_cannot_name_a_file(world_model, tmp_path):
    """The name in a manifest is looked up among what the owner registered; it is never a path, and never imported."""
    bundle = own(world_model, tmp_path)
    for name in ("os:system", "/tmp/x.onnx", "../mine.py"):
        about = replace(bundle.manifest, own={**bundle.manifest.own, "name": name})
        (bundle.path / MANIFEST).write_text(json.dumps(about.to_json()))
        with pytest.raises(AiccError, match="is not registered here"):
            Bundle.load(bundle.path)


def test_a_worker_gets_it_by_name(world_model, tmp_path):
    bundle = own(world_model, tmp_path)
    again = pickle.loads(pickle.dumps(bundle))
    x = np.random.default_rng(0).random((2, 4, 64, 64), dtype=np.float32)
    assert again.predict(x)[1].tolist() == bundle.predict(x)[1].tolist()


@pytest.mark.parametrize(
    ("predict", "said"),
    [
        (lambda frames, steering: np.full((len(frames), 3), 0.5), r"probabilities of shape \(4, 2\), got \(4, 3\)"),
        (lambda frames, steering: np.full((len(frames), 2), 1.5), "from 0 to 1, got 1.5 to 1.5"),
        (lambda frames, steering: np.full((len(frames), 2), np.nan), "from 0 to 1, got nan"),
        (lambda frames, steering: (np.full((len(frames), 2), 0.5), np.zeros(7)), r"features must have the shape \(4, F\)"),
    ],
)
def test_answers_that_are_none_are_refused_when_the_bundle_is_made(world_model, tmp_path, predict, said):
    with pytest.raises(AiccError, match=said):
        own(world_model, tmp_path, predict)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"horizons": (5, 2)}, r"horizons of the predictor mine must be rising frame counts >= 1, got \(5, 2\)"),
        ({"horizons": (1,), "lags": (2,)}, "lags of the predictor mine must be rising frame counts that begin with 0"),
        ({"horizons": (1,), "predict": 3}, "the predictor mine must be callable, got 3"),
        ({"horizons": (1,), "name": "../x"}, "a predictor's name must be small letters"),
    ],
)
def test_mistakes_are_named(options, said):
    with pytest.raises(ConfigError, match=said):
        register_predictor(**{"name": "mine", "predict": light, **options})


def onnx_file(path, channels_last):
    """probabilities = sigmoid(mean of the picture + steering), twice."""
    shape = ("batch", 64, 64, 3) if channels_last else ("batch", 3, 64, 64)
    nodes = [
        helper.make_node("ReduceMean", ["frames"], ["light"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["light", "axis"], ["column"]),
        helper.make_node("Add", ["column", "steering"], ["sum"]),
        helper.make_node("Sigmoid", ["sum"], ["one"]),
        helper.make_node("Concat", ["one", "one"], ["p"], axis=1),
    ]
    inputs = [
        helper.make_tensor_value_info("frames", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("steering", TensorProto.FLOAT, ("batch", 1)),
    ]
    outputs = [helper.make_tensor_value_info("p", TensorProto.FLOAT, ("batch", 2))]
    axis = helper.make_tensor("axis", TensorProto.INT64, (1,), [1])
    graph = helper.make_graph(nodes, "own", inputs, outputs, [axis])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.mark.parametrize("channels_last", [False, True])
def test_an_onnx_file_of_torch_or_keras(world_model, tmp_path, channels_last):
    predict = OnnxPredictor(onnx_file(tmp_path / "mine.onnx", channels_last))
    bundle = own(world_model, tmp_path, predict)
    frames = np.random.default_rng(0).random((2, 1, 64, 64, 3), dtype=np.float32)
    wanted = sigmoid(frames.mean(axis=(1, 2, 3, 4))[:, None] + [[0.2], [-0.1]])
    assert predict(frames, np.array([[0.2], [-0.1]], np.float32)) == pytest.approx(np.repeat(wanted, 2, axis=1), abs=1e-5)
    assert bundle.feature_size == 0


def test_a_file_that_is_no_such_net_is_named(tmp_path):
    (tmp_path / "rubbish.onnx").write_bytes(b"no net")
    for file, said in (("rubbish.onnx", "cannot run the net"), ("gone.onnx", "no ONNX file at")):
        with pytest.raises(AiccError, match=said):
            OnnxPredictor(tmp_path / file)
