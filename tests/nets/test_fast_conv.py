import copy

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from donkey_aicc.nets import fast_conv
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.fast_conv import for_inference


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


@pytest.mark.parametrize("name", ["vae", "safety"])
def test_the_fast_copy_gives_the_same_numbers(name):
    net = {"vae": VAE, "safety": SafetyCNN}[name]().eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):  # as after a training
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.5, 2.0)
            nn.init.uniform_(module.weight, 0.5, 1.5)
    before = copy.deepcopy(net.state_dict())
    fast, images = for_inference(net), torch.rand(3, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(fast(images), net(images), atol=1e-5, rtol=1e-4)
    norms = [sum(isinstance(module, nn.BatchNorm2d) for module in each.modules()) for each in (net, fast)]
    assert norms[1] <= norms[0] // 4
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
