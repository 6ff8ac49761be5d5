"""The nets as ONNX graphs, layer by layer as in camera_nets.py and dynamics.py; needs neither torch nor onnx."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from donkey_aicc.nets import winograd_matrices as winograd
from donkey_aicc.nets.onnx_graph import Built, Graph
from donkey_aicc.nets.preprocess import (
    ACTION_CHANNELS,
    CHANGE_GAIN,
    FEATURE_SIZE,
    FIRST_SIZE,
    GATES,
    HIDDEN,
    LATENT_CHANNELS,
    LATENT_SIDE,
    POSITIONS,
    frames_in,
)

NORM_EPS = 1e-5  # torch's default, which all our nets use
IMAGE = ("batch", 3, 64, 64)
LATENT = ("batch", LATENT_CHANNELS, LATENT_SIDE, LATENT_SIDE)
_SAMPLES = (POSITIONS, "lanes", "samples")
# What runs; the net whose weights it uses.
ENCODER, DECODER, PREDICTOR, DROPPED, COMMAND, STEP = "encoder", "decoder", "predictor", "dropped predictor", "command", "step"
NET_OF = {ENCODER: "vae", DECODER: "vae", PREDICTOR: "safety", DROPPED: "safety", COMMAND: "dynamics", STEP: "dynamics"}


def build_graph(which: str, weights: Mapping[str, np.ndarray], where: str, channels: int, horizons: int) -> Built:
    """One of the graphs above for these weights of the file `where`; a weight that is missing or of another shape is refused.

    channels: of the predictor's input; horizons: how many it answers for.
    """
    graph = Graph(weights, where)
    made: dict[str, Callable[[], Built]] = {
        ENCODER: lambda: _encoder(graph),
        DECODER: lambda: _decoder(graph),
        PREDICTOR: lambda: _predictor(graph, channels, horizons),
        DROPPED: lambda: _dropped_predictor(graph, channels, horizons),
        COMMAND: lambda: _command(graph),
        STEP: lambda: _step(graph),
    }
    return made[which]()


def _encoder(graph: Graph) -> Built:
    """images -> latent mean."""
    x = graph.op("Sub", "images", graph.constant(0.5))
    for number, (inputs, outputs) in enumerate(pairwise((3, 32, 64, 128, 192))):
        x = _conv(graph, x, f"encoder.{number}.0", (outputs, inputs, 4, 4), stride=2)
        x = graph.op("Relu", _norm(graph, x, f"encoder.{number}.1", outputs))
    both = _mixing(graph, x, "encoder.4", 192, 2 * LATENT_CHANNELS, 256)
    return graph.built(ENCODER, {"images": IMAGE}, {"latent": graph.split_op("Split", 2, both, axis=1, num_outputs=2)[0]})


def _decoder(graph: Graph) -> Built:
    """latent -> images."""
    x = _mixing(graph, "latent", "decoder.0", LATENT_CHANNELS, 192, 448)
    x = graph.op("Relu", _norm(graph, x, "decoder.1", 192))
    for residual, (inputs, outputs), hidden in ((3, (192, 128), 128), (5, (128, 64), 96), (7, (64, 32), 48)):
        x, up = _residual(graph, x, f"decoder.{residual}.body", inputs, hidden), f"decoder.{residual + 1}"
        weight = graph.weight(f"{up}.0.weight", inputs, outputs, 4, 4)
        x = graph.op("ConvTranspose", x, weight, strides=[2, 2], pads=[1, 1, 1, 1])
        x = graph.op("Relu", _norm(graph, x, f"{up}.1", outputs))
    x = _conv(graph, x, "decoder.9", (12, 32, 3, 3), bias=True)
    x = graph.op("DepthToSpace", x, blocksize=2, mode="CRD")
    return graph.built(DECODER, {"latent": LATENT}, {"images": graph.op("Sigmoid", x)})


def _predictor(graph: Graph, channels: int, horizons: int) -> Built:
    """images (and what a history brings) -> features and logits, without dropout."""
    features = graph.op("Relu", _linear(graph, _seen(graph, channels), "second", FIRST_SIZE, FEATURE_SIZE))
    found = {"features": features, "logits": _linear(graph, features, "third", FEATURE_SIZE, horizons)}
    return graph.built(PREDICTOR, {"images": ("batch", channels, 64, 64)}, found)


def _dropped_predictor(graph: Graph, channels: int, horizons: int) -> Built:
    """The same with masks behind the first two fully connected layers -> logits (passes, B, K).

    Nothing before them is dropped, so that is computed once for all passes.
    """
    x = graph.op("Mul", _seen(graph, channels), "first_masks")
    for name, inputs, outputs in (("second", FIRST_SIZE, FEATURE_SIZE), ("third", FEATURE_SIZE, horizons)):
        turned = graph.op("Transpose", graph.weight(f"{name}.weight", outputs, inputs), perm=[1, 0])
        x = graph.op("Add", graph.op("MatMul", x, turned), graph.weight(f"{name}.bias", outputs))
        x = graph.op("Mul", graph.op("Relu", x), "feature_masks") if name == "second" else x
    masks = {"first_masks": ("passes", 1, FIRST_SIZE), "feature_masks": ("passes", 1, FEATURE_SIZE)}
    return graph.built(DROPPED, {"images": ("batch", channels, 64, 64), **masks}, {"logits": x})


def _seen(graph: Graph, channels: int) -> str:
    """images -> (B, 512), all before the first dropout."""
    x = _predictor_input(graph, channels)
    for number in range(4):
        outputs = len(graph.stored(f"convolutions.{number}.0.weight"))  # wider or narrower nets are predictors too
        x = _conv(graph, x, f"convolutions.{number}.0", (outputs, channels, 3, 3), stride=2)
        x, channels = graph.op("Relu", _norm(graph, x, f"convolutions.{number}.1", outputs)), outputs
    return graph.op("Relu", _linear(graph, graph.op("Flatten", x), "first", channels * 4 * 4, FIRST_SIZE))


def _predictor_input(graph: Graph, channels: int) -> str:
    """SafetyCNN.seen: the newest frame about zero, the older ones as changes, the commands as they are."""
    half, frames = graph.constant(0.5), frames_in(channels)
    if frames == 1:
        return graph.op("Sub", "images", half)
    sizes = graph.constant([3] * frames + [channels - 3 * frames], np.int64)
    newest, *older, commands = graph.split_op("Split", frames + 1, "images", sizes, axis=1)
    changes = [graph.op("Mul", graph.op("Sub", newest, each), graph.constant(CHANGE_GAIN)) for each in older]
    return graph.op("Concat", graph.op("Sub", newest, half), *changes, commands, axis=1)


def _command(graph: Graph) -> Built:
    """Normalised action (L, 2) -> its share of the first layer's gates (16, L, 1, 512)."""
    hidden = graph.op("Relu", _linear(graph, "action", "action.0", 2, 64))
    maps = graph.reshape(_linear(graph, hidden, "action.2", 64, ACTION_CHANNELS * POSITIONS), -1, ACTION_CHANNELS, POSITIONS)
    x = graph.op("Transpose", maps, perm=[2, 0, 1])
    own = _input_channels(graph, _gates(graph, 0), [(LATENT_CHANNELS, LATENT_CHANNELS + ACTION_CHANNELS)])
    gates = _winograd(graph, x, own, ACTION_CHANNELS, GATES * HIDDEN)
    return graph.built(COMMAND, {"action": ("lanes", 2)}, {"command": graph.reshape(gates, POSITIONS, -1, 1, GATES * HIDDEN)})


def _step(graph: Graph) -> Built:
    """One step of the dynamics for L lanes of S samples, the state as input and output; see Engine.step."""
    mean, std = (graph.weight(f"latent_{name}", 1, LATENT_CHANNELS, 1, 1) for name in ("mean", "std"))
    std = graph.reshape(std, LATENT_CHANNELS)
    z = graph.op("Div", graph.op("Sub", "z", graph.reshape(mean, LATENT_CHANNELS)), std)
    action_end = LATENT_CHANNELS + ACTION_CHANNELS
    own = _input_channels(graph, _gates(graph, 0), [(0, LATENT_CHANNELS), (action_end, action_end + HIDDEN)])
    width = LATENT_CHANNELS + HIDDEN
    joined = _flat(graph, graph.op("Concat", z, graph.op("Mul", "hidden1", "recurrent1"), axis=3), width)
    shape = graph.op("Concat", graph.op("Shape", "z", end=3), graph.constant([GATES * HIDDEN], np.int64), axis=0)
    gates = graph.op("Reshape", _winograd(graph, joined, own, width, GATES * HIDDEN), shape)
    gates = graph.op("Add", gates, "command")
    state = graph.op("Shape", "hidden1")
    hidden1, cell1 = _cell(graph, gates, "cell1", "cells.0.norm", state)
    joined = graph.op("Concat", graph.op("Mul", hidden1, "between"), graph.op("Mul", "hidden2", "recurrent2"), axis=3)
    gates = _winograd(graph, _flat(graph, joined, 2 * HIDDEN), _gates(graph, 1), 2 * HIDDEN, GATES * HIDDEN)
    hidden2, cell2 = _cell(graph, gates, "cell2", "cells.1.norm", state)
    head = graph.weight("head.weight", 2 * LATENT_CHANNELS, HIDDEN, 3, 3)
    out = _winograd(graph, _flat(graph, hidden2, HIDDEN), head, HIDDEN, 2 * LATENT_CHANNELS)
    out = graph.op("Reshape", graph.op("Add", out, graph.weight("head.bias", 2 * LATENT_CHANNELS)), state)
    change, gate = graph.split_op("Split", 2, out, axis=3, num_outputs=2)
    ahead = graph.op("Add", "z", graph.op("Mul", graph.op("Sigmoid", gate), graph.op("Mul", change, std)))
    hidden = (*_SAMPLES, HIDDEN)
    inputs: dict[str, tuple[Any, ...]] = {"z": (*_SAMPLES, LATENT_CHANNELS), "command": (POSITIONS, "lanes", 1, GATES * HIDDEN)}
    inputs |= dict.fromkeys(("hidden1", "cell1", "hidden2", "cell2"), hidden)
    inputs |= {
        "recurrent1": ("samples", HIDDEN),
        "recurrent2": ("samples", HIDDEN),
        "between": ("one_or_lanes", "samples", HIDDEN),
    }
    found = {"ahead": ahead, "hidden1_": hidden1, "cell1_": cell1, "hidden2_": hidden2, "cell2_": cell2}
    return graph.built(STEP, inputs, found)


def _cell(graph: Graph, gates: str, cell: str, norm: str, shape: str) -> tuple[str, str]:
    """GroupNorm with one group per gate, then the LSTM update; hidden and cell, (16, L, S, 128) each."""
    by_gate = graph.reshape(gates, POSITIONS, -1, GATES, HIDDEN)
    axes = graph.constant([0, 3], np.int64)
    centred = graph.op("Sub", by_gate, graph.op("ReduceMean", by_gate, axes))
    variance = graph.op("ReduceMean", graph.op("Mul", centred, centred), axes)
    spread = graph.op("Sqrt", graph.op("Add", variance, graph.constant(NORM_EPS)))
    scale, shift = (graph.reshape(graph.weight(f"{norm}.{name}", GATES * HIDDEN), GATES, HIDDEN) for name in ("weight", "bias"))
    # tanh(x) = 2 sigmoid(2 x) - 1: one sigmoid then serves all four gates
    doubled = graph.constant([[1.0], [1.0], [1.0], [2.0]])
    scale, shift = graph.op("Mul", scale, doubled), graph.op("Mul", shift, doubled)
    normal = graph.op("Add", graph.op("Mul", centred, graph.op("Div", scale, spread)), shift)
    parts = graph.split_op("Split", GATES, graph.op("Sigmoid", normal), axis=2, num_outputs=GATES)
    update, forget, output, half = (graph.op("Reshape", part, shape) for part in parts)
    candidate = graph.op("Sub", graph.op("Mul", half, graph.constant(2.0)), graph.constant(1.0))
    cell = graph.op("Add", graph.op("Mul", forget, cell), graph.op("Mul", update, candidate))
    return graph.op("Mul", output, graph.op("Tanh", cell)), cell


def _gates(graph: Graph, cell: int) -> str:
    """The weight of a cell's convolution."""
    inputs = HIDDEN if cell else LATENT_CHANNELS + ACTION_CHANNELS
    return graph.weight(f"cells.{cell}.gates.weight", GATES * HIDDEN, inputs + HIDDEN, 3, 3)


def _winograd(graph: Graph, x: str, weight: str, inputs: int, outputs: int) -> str:
    """x (16, B, inputs), weight (outputs, inputs, 3, 3) -> (16, B, outputs): a convolution as winograd_matrices.py says.

    The 36 products are 36 nodes: ONNX Runtime packs a constant matrix once, but not a stack of them, and packing at every
    step took half of the time. The unfolded weights are constants to it as well, so it computes them once, at loading.
    """
    products = winograd.PRODUCTS
    taps = graph.reshape(graph.op("Transpose", weight, perm=[2, 3, 1, 0]), 9, -1)
    unfolded = graph.op("MatMul", graph.constant(winograd.WEIGHT_2D), taps)
    rows = graph.split_op("Split", products, unfolded, axis=0, num_outputs=products)
    spread = graph.op("MatMul", graph.constant(winograd.INPUT_2D), graph.reshape(x, POSITIONS, -1))
    factors = graph.split_op("Split", products, graph.reshape(spread, products, -1, inputs), axis=0, num_outputs=products)
    found = [graph.op("MatMul", each, graph.reshape(row, inputs, outputs)) for each, row in zip(factors, rows, strict=True)]
    gathered = graph.reshape(graph.op("Concat", *found, axis=0), products, -1)
    return graph.reshape(graph.op("MatMul", graph.constant(winograd.OUTPUT_2D), gathered), POSITIONS, -1, outputs)


def _input_channels(graph: Graph, weight: str, ranges: list[tuple[int, int]]) -> str:
    axis = graph.constant([1], np.int64)
    parts = [
        graph.op("Slice", weight, graph.constant([begin], np.int64), graph.constant([end], np.int64), axis)
        for begin, end in ranges
    ]
    return parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)


def _flat(graph: Graph, x: str, channels: int) -> str:
    """(16, L, S, C) -> (16, L S, C)."""
    return graph.reshape(x, POSITIONS, -1, channels)


def _mixing(graph: Graph, x: str, name: str, inputs: int, outputs: int, hidden: int) -> str:
    inner = graph.op("Relu", _linear(graph, graph.op("Flatten", x), f"{name}.first", inputs * POSITIONS, hidden))
    whole = _linear(graph, inner, f"{name}.second", hidden, outputs * POSITIONS)
    whole = graph.reshape(whole, 0, -1, LATENT_SIDE, LATENT_SIDE)
    return graph.op("Add", _conv(graph, x, f"{name}.local", (outputs, inputs, 3, 3), bias=True), whole)


def _residual(graph: Graph, x: str, body: str, channels: int, hidden: int) -> str:
    inner = _norm(graph, _conv(graph, x, f"{body}.0", (hidden, channels, 3, 3)), f"{body}.1", hidden)
    inner = _conv(graph, graph.op("Relu", inner), f"{body}.3", (channels, hidden, 3, 3))
    return graph.op("Relu", graph.op("Add", x, _norm(graph, inner, f"{body}.4", channels)))


def _conv(graph: Graph, x: str, name: str, shape: tuple[int, ...], stride: int = 1, bias: bool = False) -> str:
    """shape: of the weight, (outputs, inputs, k, k)."""
    given = [graph.weight(f"{name}.weight", *shape)] + ([graph.weight(f"{name}.bias", shape[0])] if bias else [])
    return graph.op("Conv", x, *given, strides=[stride, stride], pads=[1, 1, 1, 1])


def _norm(graph: Graph, x: str, name: str, channels: int) -> str:
    """BatchNorm; ONNX Runtime folds it into the convolution before it."""
    given = [graph.weight(f"{name}.{part}", channels) for part in ("weight", "bias", "running_mean", "running_var")]
    return graph.op("BatchNormalization", x, *given, epsilon=NORM_EPS)


def _linear(graph: Graph, x: str, name: str, inputs: int, outputs: int) -> str:
    return graph.op("Gemm", x, graph.weight(f"{name}.weight", outputs, inputs), graph.weight(f"{name}.bias", outputs), transB=1)
