"""How many multiply-adds our nets are asked for, and how many this machine can do.

The share of the one in the other travels from machine to machine; milliseconds do not.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod

import numpy as np
import onnx

from donkey_aicc.nets.bundle import Bundle

SIDE = 512  # of the square matrices whose product is the machine's peak
PRODUCTS = 12


def peak_per_s() -> float:
    """Multiply-adds a second of CPU time in a float32 matrix product of numpy's library on one thread; the best of some."""
    rng = np.random.default_rng(0)
    one, other = (rng.standard_normal((SIDE, SIDE)).astype(np.float32) for _ in range(2))
    best = float("inf")
    for _ in range(PRODUCTS):
        start = time.process_time()
        one @ other
        best = min(best, time.process_time() - start)
    return SIDE**3 / best


class Counted:
    """Of one bundle: multiply-adds by graph, as our graphs do them (a fast convolution needs fewer than a plain one)."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle, self.by_graph = bundle, Counter[str]()
        self._known: dict[tuple[str, tuple[tuple[int, ...], ...]], int] = {}

    @contextmanager
    def counting(self) -> "Iterator[Counter[str]]":
        """What is asked of the bundle inside."""
        run, self.by_graph = self.bundle._run, Counter()

        def counted(which: str, *inputs: np.ndarray) -> list[np.ndarray]:
            key = which, tuple(np.shape(each) for each in inputs)
            if key not in self._known:
                self._known[key] = multiply_adds(self.bundle._build(which).content, key[1])
            self.by_graph[which] += self._known[key]
            return run(which, *inputs)

        self.bundle._run = counted  # type: ignore[method-assign]
        try:
            yield self.by_graph
        finally:
            del self.bundle._run

    def per_call(self, call: Callable[[], object], calls: int) -> float:
        with self.counting() as found:
            for _ in range(calls):
                call()
        return sum(found.values()) / calls


def multiply_adds(content: bytes, shapes: tuple[tuple[int, ...], ...]) -> int:
    """Of one run of an ONNX graph with inputs of these shapes: convolutions and matrix products."""
    model = onnx.load_model_from_string(content)
    for given, shape in zip(model.graph.input, shapes, strict=True):
        for dimension, size in zip(given.type.tensor_type.shape.dim, shape, strict=True):
            dimension.dim_value = size
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    sizes = {each.name: tuple(each.dims) for each in inferred.initializer}
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        sizes[value.name] = tuple(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)
    return sum(_of_node(node, sizes) for node in inferred.node)


def _of_node(node: onnx.NodeProto, sizes: dict[str, tuple[int, ...]]) -> int:
    if node.op_type == "Conv":
        return prod(sizes[node.output[0]]) * prod(sizes[node.input[1]][1:])
    if node.op_type == "ConvTranspose":
        return prod(sizes[node.input[0]]) * prod(sizes[node.input[1]][1:])
    if node.op_type in ("MatMul", "Gemm"):
        turned = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        return prod(sizes[node.output[0]]) * sizes[node.input[0]][-2 if turned else -1]
    return 0
