import torch
from torch import nn

from donkey_aicc.nets.trained_nets import survives_half
from donkey_aicc.training.stages import round_weights


def test_rounds_when_the_output_hardly_changes():
    torch.manual_seed(0)
    net, x = nn.Linear(8, 4), torch.randn(32, 8)
    record = round_weights(net, lambda: net(x))
    assert record["dtype"] == "float16" and 0 < record["output_change"] < 2e-3
    assert survives_half(net.state_dict())


def test_keeps_full_precision_when_it_matters():
    net = nn.Linear(1, 1)
    with torch.no_grad():
        net.weight.fill_(1e6)  # beyond the range of 16 bits
    before = net.weight.clone()
    record = round_weights(net, lambda: net(torch.randn(10, 1, generator=torch.Generator().manual_seed(0))))
    assert record["dtype"] == "float32"
    assert torch.equal(net.weight, before)
