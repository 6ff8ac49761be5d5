"""Writes one ONNX graph whose weights stay in the bundle's safetensors file: the graph names the file and the place in it."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 18, 9  # read by every ONNX Runtime since 1.17
_KINDS = {"F16": TensorProto.FLOAT16, "F32": TensorProto.FLOAT}


class Weights:
    """Where each tensor of a safetensors file lies."""

    def __init__(self, path: Path) -> None:
        self.file = path.name
        with open(path, "rb") as stored:
            (length,) = struct.unpack("<Q", stored.read(8))
            entries = json.loads(stored.read(length))
        self._start = 8 + length
        self._entries = {name: entry for name, entry in entries.items() if name != "__metadata__"}

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def shape(self, name: str) -> list[int]:
        return list(self._entries[name]["shape"])

    def tensor(self, name: str) -> TensorProto:
        """A tensor without data of its own."""
        entry = self._entries[name]
        begin, end = entry["data_offsets"]
        tensor = TensorProto(name=name, data_type=_KINDS[entry["dtype"]], dims=entry["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", self.file), ("offset", self._start + begin), ("length", end - begin)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor


class Graph:
    """Nodes are added in order; a value is the name of what a node gives."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._nodes: list[Any] = []
        self._constants: dict[str, TensorProto] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        return self.split_op(kind, 1, *inputs, **attributes)[0]

    def split_op(self, kind: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node with several outputs."""
        names = [f"{kind.lower()}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def weight(self, name: str) -> str:
        """A stored tensor in float32; ONNX Runtime converts it once, when it loads the graph."""
        known = f"{name}/float"
        if name not in self._constants:
            self._constants[name] = self.weights.tensor(name)
            self._nodes.append(helper.make_node("Cast", [name], [known], to=TensorProto.FLOAT))
        return known

    def constant(self, values: Any, dtype: type = np.float32) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants[name] = numpy_helper.from_array(np.asarray(values, dtype=dtype), name)
        return name

    def reshape(self, x: str, *shape: int) -> str:
        """0 keeps a dimension, -1 is what is left."""
        return self.op("Reshape", x, self.constant(shape, np.int64))

    def save(self, path: Path, inputs: dict[str, tuple[Any, ...]], outputs: dict[str, str]) -> None:
        """inputs: name -> shape; outputs: name -> value."""
        for name, value in outputs.items():
            self._nodes.append(helper.make_node("Identity", [value], [name]))
        given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in inputs.items()]
        found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self._nodes, path.stem, given, found, list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="donkey_aicc")
        model.ir_version = IR_VERSION
        path.write_bytes(model.SerializeToString())
