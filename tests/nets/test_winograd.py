import torch
from torch.nn.functional import conv2d

from donkey_aicc.nets import fast_conv


def test_equals_the_direct_convolution_forwards_and_backwards():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 10, 4, 4, generator=generator, requires_grad=True)
    weight = torch.randn(6, 10, 3, 3, generator=generator, requires_grad=True)
    fast = fast_conv.maps(fast_conv.convolve(fast_conv.positions_first(x), fast_conv.unfold_weight(weight)))
    direct = conv2d(x, weight, padding=1)
    torch.testing.assert_close(fast, direct, rtol=1e-4, atol=1e-4)
    pull = torch.randn(direct.shape, generator=generator)
    for ours, theirs in zip(
        torch.autograd.grad(fast, (x, weight), pull), torch.autograd.grad(direct, (x, weight), pull), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_layouts_are_inverse():
    x = torch.randn(2, 5, 4, 4)
    assert torch.equal(fast_conv.maps(fast_conv.positions_first(x)), x)
