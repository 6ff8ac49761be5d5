"""Builds one ONNX graph whose weights stay in the bundle's safetensors file: the graph names the file and the place in it."""

import json
import struct
from typing import Any

import numpy as np

from donkey_aicc.errors import AiccError
from donkey_aicc.nets import onnx_messages

OPSET, IR_VERSION = 18, 9  # read by every ONNX Runtime since 1.17
_KINDS = {"F16": onnx_messages.FLOAT16, "F32": onnx_messages.FLOAT}


class Weights:
    """Where each tensor of a safetensors file lies. content: all of it, or as much as its header takes."""

    def __init__(self, file: str, content: bytes) -> None:
        self.file = file
        (length,) = struct.unpack("<Q", content[:8])
        entries = json.loads(content[8 : 8 + length])
        self._start = 8 + length
        self._entries = {name: entry for name, entry in entries.items() if name != "__metadata__"}

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def shape(self, name: str) -> list[int]:
        return list(self._entry(name)["shape"])

    def tensor(self, name: str) -> bytes:
        """A tensor without data of its own."""
        entry = self._entry(name)
        begin, end = entry["data_offsets"]
        place = {"location": self.file, "offset": str(self._start + begin), "length": str(end - begin)}
        return onnx_messages.stored_tensor(name, _KINDS[entry["dtype"]], entry["shape"], place)

    def _entry(self, name: str) -> dict[str, Any]:
        entry = self._entries.get(name)
        if entry is None:
            raise AiccError(f"{self.file} must hold the weights {name}, got none of that name; train the bundle again")
        if entry["dtype"] not in _KINDS:
            raise AiccError(f"{self.file}: {name} must be of {' or '.join(_KINDS)}, got {entry['dtype']}; train the bundle again")
        return dict(entry)


class Graph:
    """Nodes are added in order; a value is the name of what a node gives."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        return self.split_op(kind, 1, *inputs, **attributes)[0]

    def split_op(self, kind: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node with several outputs."""
        names = [f"{kind.lower()}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(onnx_messages.node(kind, inputs, names, attributes))
        return names

    def weight(self, name: str) -> str:
        """A stored tensor in float32; ONNX Runtime converts it once, when it loads the graph."""
        known = f"{name}/float"
        if name not in self._constants:
            self._constants[name] = self.weights.tensor(name)
            self._nodes.append(onnx_messages.node("Cast", [name], [known], {"to": onnx_messages.FLOAT}))
        return known

    def constant(self, values: Any, dtype: type = np.float32) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants[name] = onnx_messages.constant(name, np.asarray(values, dtype=dtype))
        return name

    def reshape(self, x: str, *shape: int) -> str:
        """0 keeps a dimension, -1 is what is left."""
        return self.op("Reshape", x, self.constant(shape, np.int64))

    def file(self, name: str, inputs: dict[str, tuple[int | str, ...]], outputs: dict[str, str]) -> bytes:
        """The whole file. inputs: name -> shape; outputs: name -> value."""
        nodes = self._nodes + [onnx_messages.node("Identity", [value], [name], {}) for name, value in outputs.items()]
        given = [onnx_messages.value(name, shape) for name, shape in inputs.items()]
        found = [onnx_messages.value(name, None) for name in outputs]
        whole = onnx_messages.graph(name, nodes, list(self._constants.values()), given, found)
        return onnx_messages.model(whole, "donkey_aicc", OPSET, IR_VERSION)
