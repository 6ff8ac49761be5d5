"""The nets as ONNX graphs, layer by layer as in camera_nets.py and dynamics.py; needs neither torch nor onnx."""

from collections.abc import Callable
from typing import Any

import numpy as np

from donkey_aicc.nets import winograd_matrices
from donkey_aicc.nets.onnx_graph import Graph, Weights
from donkey_aicc.nets.preprocess import (
    ACTION_CHANNELS,
    CHANGE_GAIN,
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
# What ONNX Runtime runs -> its file; the net whose weights it uses.
ENCODER, DECODER, PREDICTOR, COMMAND, STEP = "encoder.onnx", "decoder.onnx", "predictor.onnx", "command.onnx", "step.onnx"
NET_OF = {ENCODER: "vae", DECODER: "vae", PREDICTOR: "safety", COMMAND: "dynamics", STEP: "dynamics"}


def graph_file(file: str, weights: Weights) -> bytes:
    """The content of one of these files for these weights; it holds none of them itself, so it depends on their layout only."""
    made: dict[str, Callable[[Weights], bytes]] = {
        ENCODER: encoder_graph,
        DECODER: decoder_graph,
        PREDICTOR: predictor_graph,
        COMMAND: command_graph,
        STEP: step_graph,
    }
    return made[file](weights)


def encoder_graph(weights: Weights) -> bytes:
    """images -> latent mean."""
    graph = Graph(weights)
    x = graph.op("Sub", "images", graph.constant(0.5))
    for number in range(4):
        x = _conv_norm(graph, x, f"encoder.{number}.0", f"encoder.{number}.1", stride=2)
        x = graph.op("Relu", x)
    both = _mixing(graph, x, "encoder.4")
    return graph.file("encoder", {"images": IMAGE}, {"latent": graph.split_op("Split", 2, both, axis=1, num_outputs=2)[0]})


def decoder_graph(weights: Weights) -> bytes:
    """latent -> images."""
    graph = Graph(weights)
    x = graph.op("Relu", _norm(graph, _mixing(graph, "latent", "decoder.0"), "decoder.1"))
    for residual, up in ((3, 4), (5, 6), (7, 8)):
        x = _residual(graph, x, f"decoder.{residual}.body")
        x = graph.op("ConvTranspose", x, graph.weight(f"decoder.{up}.0.weight"), strides=[2, 2], pads=[1, 1, 1, 1])
        x = graph.op("Relu", _norm(graph, x, f"decoder.{up}.1"))
    x = _conv(graph, x, "decoder.9")
    x = graph.op("DepthToSpace", x, blocksize=2, mode="CRD")
    return graph.file("decoder", {"latent": LATENT}, {"images": graph.op("Sigmoid", x)})


def predictor_graph(weights: Weights) -> bytes:
    """images (and what a history brings) -> features and logits, without dropout."""
    graph = Graph(weights)
    channels = weights.shape("convolutions.0.0.weight")[1]
    x = _predictor_input(graph, channels)
    for number in range(4):
        x = graph.op("Relu", _conv_norm(graph, x, f"convolutions.{number}.0", f"convolutions.{number}.1", stride=2))
    x = graph.op("Relu", _linear(graph, graph.op("Flatten", x), "first"))
    features = graph.op("Relu", _linear(graph, x, "second"))
    shape = ("batch", channels, 64, 64)
    return graph.file("predictor", {"images": shape}, {"features": features, "logits": _linear(graph, features, "third")})


def _predictor_input(graph: Graph, channels: int) -> str:
    """SafetyCNN.seen: the newest frame about zero, the older ones as changes, the commands as they are."""
    half, frames = graph.constant(0.5), frames_in(channels)
    if frames == 1:
        return graph.op("Sub", "images", half)
    sizes = graph.constant([3] * frames + [channels - 3 * frames], np.int64)
    newest, *older, commands = graph.split_op("Split", frames + 1, "images", sizes, axis=1)
    changes = [graph.op("Mul", graph.op("Sub", newest, each), graph.constant(CHANGE_GAIN)) for each in older]
    return graph.op("Concat", graph.op("Sub", newest, half), *changes, commands, axis=1)


def command_graph(weights: Weights) -> bytes:
    """Normalised action (L, 2) -> its share of the first layer's gates (16, L, 1, 512)."""
    graph = Graph(weights)
    hidden = graph.op("Relu", _linear(graph, "action", "action.0"))
    maps = graph.reshape(_linear(graph, hidden, "action.2"), -1, ACTION_CHANNELS, POSITIONS)
    x = graph.op("Transpose", maps, perm=[2, 0, 1])
    first = graph.weight("cells.0.gates.weight")
    gates = _winograd(graph, x, _input_channels(graph, first, [(LATENT_CHANNELS, LATENT_CHANNELS + ACTION_CHANNELS)]))
    return graph.file("command", {"action": ("lanes", 2)}, {"command": graph.reshape(gates, POSITIONS, -1, 1, GATES * HIDDEN)})


def step_graph(weights: Weights) -> bytes:
    """One step of the dynamics for L lanes of S samples, the state as input and output; see Runtime.step."""
    graph = Graph(weights)
    std = graph.reshape(graph.weight("latent_std"), LATENT_CHANNELS)
    z = graph.op("Div", graph.op("Sub", "z", graph.reshape(graph.weight("latent_mean"), LATENT_CHANNELS)), std)
    first = graph.weight("cells.0.gates.weight")
    action_end = LATENT_CHANNELS + ACTION_CHANNELS
    own = _input_channels(graph, first, [(0, LATENT_CHANNELS), (action_end, action_end + HIDDEN)])
    joined = _flat(graph, graph.op("Concat", z, graph.op("Mul", "hidden1", "recurrent1"), axis=3), LATENT_CHANNELS + HIDDEN)
    shape = graph.op("Concat", graph.op("Shape", "z", end=3), graph.constant([GATES * HIDDEN], np.int64), axis=0)
    gates = graph.op("Add", graph.op("Reshape", _winograd(graph, joined, own), shape), "command")
    state = graph.op("Shape", "hidden1")
    hidden1, cell1 = _cell(graph, gates, "cell1", "cells.0.norm", state)
    joined = graph.op("Concat", graph.op("Mul", hidden1, "between"), graph.op("Mul", "hidden2", "recurrent2"), axis=3)
    gates = _winograd(graph, _flat(graph, joined, 2 * HIDDEN), graph.weight("cells.1.gates.weight"))
    hidden2, cell2 = _cell(graph, gates, "cell2", "cells.1.norm", state)
    out = _winograd(graph, _flat(graph, hidden2, HIDDEN), graph.weight("head.weight"))
    out = graph.op("Reshape", graph.op("Add", out, graph.weight("head.bias")), state)
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
    return graph.file("step", inputs, found)


def _cell(graph: Graph, gates: str, cell: str, norm: str, shape: str) -> tuple[str, str]:
    """GroupNorm with one group per gate, then the LSTM update; hidden and cell, (16, L, S, 128) each."""
    by_gate = graph.reshape(gates, POSITIONS, -1, GATES, HIDDEN)
    axes = graph.constant([0, 3], np.int64)
    centred = graph.op("Sub", by_gate, graph.op("ReduceMean", by_gate, axes))
    variance = graph.op("ReduceMean", graph.op("Mul", centred, centred), axes)
    spread = graph.op("Sqrt", graph.op("Add", variance, graph.constant(NORM_EPS)))
    scale, shift = (graph.reshape(graph.weight(f"{norm}.{name}"), GATES, HIDDEN) for name in ("weight", "bias"))
    # tanh(x) = 2 sigmoid(2 x) - 1: one sigmoid then serves all four gates
    doubled = graph.constant([[1.0], [1.0], [1.0], [2.0]])
    scale, shift = graph.op("Mul", scale, doubled), graph.op("Mul", shift, doubled)
    normal = graph.op("Add", graph.op("Mul", centred, graph.op("Div", scale, spread)), shift)
    parts = graph.split_op("Split", GATES, graph.op("Sigmoid", normal), axis=2, num_outputs=GATES)
    update, forget, output, half = (graph.op("Reshape", part, shape) for part in parts)
    candidate = graph.op("Sub", graph.op("Mul", half, graph.constant(2.0)), graph.constant(1.0))
    cell = graph.op("Add", graph.op("Mul", forget, cell), graph.op("Mul", update, candidate))
    return graph.op("Mul", output, graph.op("Tanh", cell)), cell


def _winograd(graph: Graph, x: str, weight: str) -> str:
    """x (16, B, C), weight (O, C, 3, 3) -> (16, B, O), as in fast_conv.py.

    The 36 products are 36 nodes: ONNX Runtime packs a constant matrix once, but not a stack of them, and packing at every
    step took half of the time. The unfolded weights are constants to it as well, so it computes them once, at loading.
    """
    taps = graph.reshape(graph.op("Transpose", weight, perm=[2, 3, 1, 0]), 9, -1)
    outputs = graph.op("Shape", weight, start=0, end=1)
    inputs = graph.op("Shape", weight, start=1, end=2)
    unfolded = graph.op("MatMul", graph.constant(winograd_matrices.WEIGHT_2D), taps)
    matrix = graph.op("Concat", inputs, outputs, axis=0)
    rows = graph.split_op("Split", winograd_matrices.PRODUCTS, unfolded, axis=0, num_outputs=winograd_matrices.PRODUCTS)
    spread = graph.op("MatMul", graph.constant(winograd_matrices.INPUT_2D), graph.reshape(x, POSITIONS, -1))
    maps = graph.op("Concat", graph.constant([winograd_matrices.PRODUCTS, -1], np.int64), inputs, axis=0)
    factors = graph.split_op(
        "Split", winograd_matrices.PRODUCTS, graph.op("Reshape", spread, maps), axis=0, num_outputs=winograd_matrices.PRODUCTS
    )
    products = [graph.op("MatMul", factor, graph.op("Reshape", row, matrix)) for factor, row in zip(factors, rows, strict=True)]
    gathered = graph.reshape(graph.op("Concat", *products, axis=0), winograd_matrices.PRODUCTS, -1)
    back = graph.op("Concat", graph.constant([POSITIONS, -1], np.int64), outputs, axis=0)
    return graph.op("Reshape", graph.op("MatMul", graph.constant(winograd_matrices.OUTPUT_2D), gathered), back)


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


def _mixing(graph: Graph, x: str, name: str) -> str:
    hidden = graph.op("Relu", _linear(graph, graph.op("Flatten", x), f"{name}.first"))
    whole = graph.reshape(_linear(graph, hidden, f"{name}.second"), 0, -1, LATENT_SIDE, LATENT_SIDE)
    return graph.op("Add", _conv(graph, x, f"{name}.local"), whole)


def _residual(graph: Graph, x: str, body: str) -> str:
    inner = graph.op("Relu", _conv_norm(graph, x, f"{body}.0", f"{body}.1"))
    return graph.op("Relu", graph.op("Add", x, _conv_norm(graph, inner, f"{body}.3", f"{body}.4")))


def _conv(graph: Graph, x: str, name: str, stride: int = 1) -> str:
    given = [graph.weight(f"{name}.{part}") for part in ("weight", "bias") if f"{name}.{part}" in graph.weights]
    return graph.op("Conv", x, *given, strides=[stride, stride], pads=[1, 1, 1, 1])


def _conv_norm(graph: Graph, x: str, convolution: str, norm: str, stride: int = 1) -> str:
    return _norm(graph, _conv(graph, x, convolution, stride), norm)


def _norm(graph: Graph, x: str, name: str) -> str:
    """BatchNorm; ONNX Runtime folds it into the convolution before it."""
    given = [graph.weight(f"{name}.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
    return graph.op("BatchNormalization", x, *given, epsilon=NORM_EPS)


def _linear(graph: Graph, x: str, name: str) -> str:
    return graph.op("Gemm", x, graph.weight(f"{name}.weight"), graph.weight(f"{name}.bias"), transB=1)
