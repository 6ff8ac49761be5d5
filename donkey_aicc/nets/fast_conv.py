"""Convolutions that give the same numbers faster.

A 3x3 convolution on a 4x4 map with a quarter of the multiplications: Winograd's F(4x4, 3x3). The zero-padded 4x4 map is exactly
one 6x6 tile, so the convolution becomes 36 small matrix products. On a CPU that is about 2.5x faster than the direct
convolution, forwards and backwards; the result differs by rounding only. Layout: positions first, (16, B, C),
position = 4 * row + column.

And a faster copy of a whole convolutional net: for the car and for scoring, not for training.
"""

import copy
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from donkey_aicc.nets import winograd_matrices as matrices
from donkey_aicc.nets.winograd_matrices import PRODUCTS

SIDE = 4
POSITIONS = SIDE * SIDE

INPUT_2D, WEIGHT_2D, OUTPUT_2D = map(torch.from_numpy, (matrices.INPUT_2D, matrices.WEIGHT_2D, matrices.OUTPUT_2D))


def unfold_weight(weight: Tensor) -> Tensor:
    """(O, C, 3, 3) -> (36, C, O), to be computed once and used for many maps."""
    outputs, inputs = weight.shape[:2]
    return (WEIGHT_2D @ weight.permute(2, 3, 1, 0).reshape(9, -1)).view(PRODUCTS, inputs, outputs)


def spread(x: Tensor) -> Tensor:
    """(16, B, C) -> (36, B, C): the factors that meet the unfolded weights."""
    return (INPUT_2D.to(x.device) @ x.reshape(POSITIONS, -1)).view(PRODUCTS, x.shape[1], -1)


def gather(products: Tensor) -> Tensor:
    """(36, B, O) -> (16, B, O): the convolution's output."""
    return (OUTPUT_2D.to(products.device) @ products.view(PRODUCTS, -1)).view(POSITIONS, products.shape[1], -1)


def convolve(x: Tensor, unfolded: Tensor) -> Tensor:
    """x: (16, B, C), unfolded: (36, C, O) -> (16, B, O): conv2d with padding 1 and no bias."""
    return gather(torch.bmm(spread(x), unfolded))


def positions_first(x: Tensor) -> Tensor:
    """(B, C, 4, 4) -> (16, B, C); free of copies for what `maps` returned."""
    return x.permute(2, 3, 0, 1).reshape(POSITIONS, x.shape[0], x.shape[1])


def maps(x: Tensor) -> Tensor:
    """(16, B, C) -> a (B, C, 4, 4) view."""
    return x.view(SIDE, SIDE, x.shape[1], x.shape[2]).permute(2, 3, 0, 1)


Net = TypeVar("Net", bound=nn.Module)


def for_inference(net: Net) -> Net:
    """BatchNorm folded into the convolutions, channels-last memory, evaluation mode, no gradients. `net` is left alone.

    Differs from the net by float rounding only; up to 1.6 times faster on a CPU.
    """
    fast = copy.deepcopy(net).eval().requires_grad_(False)
    for block in fast.modules():
        if isinstance(block, nn.Sequential):
            _fold_norms(block)
    return fast.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _fold_norms(block: nn.Sequential) -> None:
    for number in range(len(block) - 1):
        convolution, norm = block[number], block[number + 1]
        if isinstance(convolution, (nn.Conv2d, nn.ConvTranspose2d)) and isinstance(norm, nn.BatchNorm2d):
            transposed = isinstance(convolution, nn.ConvTranspose2d)
            block[number] = fuse_conv_bn_eval(convolution, norm, transpose=transposed)
            block[number + 1] = nn.Identity()
