"""The few messages of an ONNX file as bytes, in the order of their fields: the same graph always gives the same bytes.

Written here, because whatever runs the nets makes their graphs, and a car has no onnx package. Field numbers are those of
onnx.proto; tests compare with what that package writes.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

FLOAT, INT64, FLOAT16 = 1, 7, 10  # onnx.TensorProto.DataType
_KINDS = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64}
_OF_FLOAT, _OF_INT, _OF_STRING, _OF_INTS = 1, 2, 3, 7  # onnx.AttributeProto.AttributeType
_EXTERNAL = 1
_VARINT, _WITH_LENGTH, _FOUR_BYTES = 0, 2, 5  # how the protocol buffer stores a field


def model(graph: bytes, producer: str, opset: int, ir_version: int) -> bytes:
    operators = _text(1, "") + _number(2, opset)
    return _number(1, ir_version) + _text(2, producer) + _message(7, graph) + _message(8, operators)


def graph(
    name: str, nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes]
) -> bytes:
    found = b"".join(_message(1, each) for each in nodes) + _text(2, name)
    for field, parts in ((5, tensors), (11, inputs), (12, outputs)):
        found += b"".join(_message(field, each) for each in parts)
    return found


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: dict[str, Any]) -> bytes:
    found = b"".join(_text(1, each) for each in inputs) + b"".join(_text(2, each) for each in outputs) + _text(4, kind)
    return found + b"".join(_message(5, _attribute(name, attributes[name])) for name in sorted(attributes))


def constant(name: str, values: np.ndarray) -> bytes:
    """A tensor with its data."""
    sizes = b"".join(_number(1, size) for size in values.shape)
    data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
    return sizes + _number(2, _KINDS[values.dtype]) + _text(8, name) + _message(9, data)


def outside_tensor(name: str, kind: int, shape: Sequence[int]) -> bytes:
    """A tensor whose data is not in the graph: whoever makes a session hands it over."""
    found = b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name)
    return found + _message(13, _text(1, "location") + _text(2, "handed over")) + _number(14, _EXTERNAL)


def value(name: str, shape: Sequence[int | str] | None) -> bytes:
    """An input or output of floats; a dimension with a name may have any size. None: nothing is said about the shape."""
    kind = _number(1, FLOAT)
    if shape is not None:
        sizes = (_text(2, each) if isinstance(each, str) else _number(1, each) for each in shape)
        kind += _message(2, b"".join(_message(1, size) for size in sizes))
    return _text(1, name) + _message(2, _message(1, kind))


def _attribute(name: str, given: Any) -> bytes:
    if isinstance(given, float):
        stored, kind = _key(2, _FOUR_BYTES) + struct.pack("<f", given), _OF_FLOAT
    elif isinstance(given, int):
        stored, kind = _number(3, given), _OF_INT
    elif isinstance(given, str):
        stored, kind = _text(4, given), _OF_STRING
    else:
        stored, kind = b"".join(_number(8, each) for each in given), _OF_INTS
    return _text(1, name) + stored + _number(20, kind)


def _number(field: int, number: int) -> bytes:
    return _key(field, _VARINT) + _varint(number)


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _message(field: int, content: bytes) -> bytes:
    return _key(field, _WITH_LENGTH) + _varint(len(content)) + content


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; none of our numbers is negative."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
