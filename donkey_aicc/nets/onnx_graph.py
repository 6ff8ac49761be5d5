"""Builds one ONNX graph in memory. The weights stay outside of it: whoever makes a session hands them over by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets import onnx_messages

OPSET, IR_VERSION = 18, 9  # read by every ONNX Runtime since 1.17
_KINDS = {np.dtype(np.float16): onnx_messages.FLOAT16, np.dtype(np.float32): onnx_messages.FLOAT}


@dataclass(frozen=True)
class Built:
    """A graph as the bytes of an ONNX file, the names of its inputs in order, and the weights that it takes."""

    content: bytes
    inputs: tuple[str, ...]
    weights: dict[str, np.ndarray]


class Graph:
    """Nodes are added in order; a value is the name of what a node gives.

    weights: by name, float16 or float32. where: the file that they are from, for whoever has to mend it.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], where: str) -> None:
        self._weights, self._where = weights, where
        self._used: dict[str, np.ndarray] = {}
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        return self.split_op(kind, 1, *inputs, **attributes)[0]

    def split_op(self, kind: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node with several outputs."""
        names = [f"{kind.lower()}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(onnx_messages.node(kind, inputs, names, attributes))
        return names

    def stored(self, name: str) -> np.ndarray:
        """The weight itself, where its size decides what is built."""
        if name not in self._weights:
            raise AiccError(f"{self._where} does not fit this version's network: it has no {name}; train the bundle again")
        return self._weights[name]

    def weight(self, name: str, *shape: int) -> str:
        """A weight of this shape as a value in float32; ONNX Runtime converts it once, when it makes the session."""
        known = f"{name}/float"
        if name not in self._used:
            values = self.stored(name)
            if values.shape != shape or values.dtype not in _KINDS:
                raise AiccError(
                    f"{self._where} does not fit this version's network: {name} must be numbers of shape {shape}, got "
                    f"{values.dtype} {values.shape}; train the bundle again"
                )
            self._used[name] = values
            self._constants.append(onnx_messages.outside_tensor(name, _KINDS[values.dtype], shape))
            self._nodes.append(onnx_messages.node("Cast", [name], [known], {"to": onnx_messages.FLOAT}))
        return known

    def constant(self, values: Any, dtype: type = np.float32) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(onnx_messages.constant(name, np.asarray(values, dtype=dtype)))
        return name

    def reshape(self, x: str, *shape: int) -> str:
        """0 keeps a dimension, -1 is what is left."""
        return self.op("Reshape", x, self.constant(shape, np.int64))

    def built(self, name: str, inputs: Mapping[str, tuple[int | str, ...]], outputs: Mapping[str, str]) -> Built:
        """inputs: name -> shape; outputs: name -> value."""
        nodes = self._nodes + [onnx_messages.node("Identity", [value], [name], {}) for name, value in outputs.items()]
        given = [onnx_messages.value(name, shape) for name, shape in inputs.items()]
        found = [onnx_messages.value(name, None) for name in outputs]
        whole = onnx_messages.graph(name, nodes, self._constants, given, found)
        return Built(onnx_messages.model(whole, "donkey_aicc", OPSET, IR_VERSION), tuple(inputs), self._used)
