"""The matrices of Winograd's F(4x4, 3x3): a 3x3 convolution on a 4x4 map with a quarter of the multiplications.

The zero-padded 4x4 map is exactly one 6x6 tile, so the convolution becomes 36 small matrix products, 2.5 times as fast on a CPU
and equal but for rounding. Layout: positions first, (16, B, C), position = 4 * row + column. Training (dynamics.py) and the
graphs (onnx_nets.py) use them.
"""

from collections.abc import Sequence

import numpy as np

PRODUCTS = 36

# Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), interpolation at 0, +-1, +-2, infinity
_INPUT = [
    [4, 0, -5, 0, 1, 0],
    [0, -4, -4, 1, 1, 0],
    [0, 4, -4, -1, 1, 0],
    [0, -2, -1, 2, 1, 0],
    [0, 2, -1, -2, 1, 0],
    [0, 4, 0, -5, 0, 1],
]
_WEIGHT: list[list[float]] = [
    [1 / 4, 0, 0],
    [-1 / 6, -1 / 6, -1 / 6],
    [-1 / 6, 1 / 6, -1 / 6],
    [1 / 24, 1 / 12, 1 / 6],
    [1 / 24, -1 / 12, 1 / 6],
    [0, 0, 1],
]
_OUTPUT = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]


def _two_dimensional(rows: Sequence[Sequence[float]], columns: slice = slice(None)) -> np.ndarray:
    one = np.array(rows, dtype=np.float64)[:, columns]
    return np.kron(one, one).astype(np.float32)


INPUT_2D = _two_dimensional(_INPUT, slice(1, 5))  # (36, 16): the border of the tile is zero padding
WEIGHT_2D = _two_dimensional(_WEIGHT)  # (36, 9)
OUTPUT_2D = _two_dimensional(_OUTPUT)  # (16, 36)
