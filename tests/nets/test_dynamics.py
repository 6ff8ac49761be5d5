import pytest
import torch
from torch.nn.functional import conv2d

from donkey_aicc.nets.dynamics import (
    HIDDEN,
    LatentDynamics,
    Masks,
    convolve,
    draw_between_mask,
    draw_recurrent_masks,
    unfold_weight,
)


@pytest.fixture
def net() -> LatentDynamics:
    torch.manual_seed(0)
    return LatentDynamics().eval()


@pytest.fixture
def inputs(net):
    generator = torch.Generator().manual_seed(1)
    z, action = torch.randn(3, 64, 4, 4, generator=generator), torch.randn(3, 2, generator=generator)
    with torch.no_grad():
        _, state = net.step(z, action, net.initial_state(3))
    return z, action, state


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_step_keeps_shapes(net, inputs):
    z, action, state = inputs
    z_next, new_state = net.step(z, action, state)
    assert z_next.shape == z.shape
    assert len(new_state) == 2 and all(part.shape == (3, HIDDEN, 4, 4) for layer in new_state for part in layer)


def test_has_about_two_point_four_million_parameters(net):
    count = sum(parameter.numel() for parameter in net.parameters())
    assert abs(count / 2.4e6 - 1) < 0.1


def test_the_fast_convolution_equals_the_direct_one_forwards_and_backwards():
    x = torch.randn(3, 10, 4, 4, generator=seeded(0), requires_grad=True)
    weight = torch.randn(6, 10, 3, 3, generator=seeded(1), requires_grad=True)
    fast, direct = convolve(x, unfold_weight(weight)), conv2d(x, weight, padding=1)
    torch.testing.assert_close(fast, direct, rtol=1e-4, atol=1e-4)
    pull = torch.randn(direct.shape, generator=seeded(2))
    for ours, theirs in zip(
        torch.autograd.grad(fast, (x, weight), pull), torch.autograd.grad(direct, (x, weight), pull), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_closed_gate_copies_the_latent(net, inputs):
    z, action, state = inputs
    with torch.no_grad():
        net.head.weight[64:] = 0.0
        net.head.bias[64:] = -200.0
    z_next, _ = net.step(z, action, state)
    assert torch.equal(z_next, z)


def test_open_gate_adds_the_whole_change(net, inputs):
    z, action, state = inputs
    with torch.no_grad():
        net.head.weight.zero_()
        net.head.bias[:64], net.head.bias[64:] = 0.5, 200.0
    z_next, _ = net.step(z, action, state)
    torch.testing.assert_close(z_next, z + 0.5)


def test_without_masks_even_training_mode_is_deterministic(net, inputs):
    net.train()
    assert torch.equal(net.step(*inputs)[0], net.step(*inputs)[0])


def test_group_norm_is_active_at_inference(net, inputs):
    """Scaling the gate weights must not matter, which holds only if their output is normalised."""
    z, action, state = inputs
    with torch.no_grad():
        before, _ = net.step(z, action, state)
        for cell in net.cells:
            cell.gates.weight.mul_(3.0)
        after, _ = net.step(z, action, state)
    torch.testing.assert_close(after, before, rtol=1e-3, atol=1e-4)


def test_masks_of_ones_change_nothing(net, inputs):
    z, action, state = inputs
    ones = Masks(recurrent=(torch.ones(3, HIDDEN, 1, 1),) * 2, between=torch.ones(3, HIDDEN, 1, 1))
    assert torch.equal(net.step(z, action, state, ones)[0], net.step(z, action, state)[0])


@pytest.mark.parametrize("which", ["first_layer", "second_layer", "between"])
def test_each_dropout_acts_on_its_own(net, inputs, which):
    z, action, state = inputs
    ones, drop = torch.ones(3, HIDDEN, 1, 1), draw_recurrent_masks(3, seeded(2))[0]
    masks = {
        "first_layer": Masks(recurrent=(drop, ones)),
        "second_layer": Masks(recurrent=(ones, drop)),
        "between": Masks(between=drop),
    }[which]
    _, plain = net.step(z, action, state)
    _, masked = net.step(z, action, state, masks)
    assert torch.equal(plain[0][0], masked[0][0]) == (which != "first_layer")
    assert not torch.equal(plain[1][0], masked[1][0])


def test_dropped_hidden_channels_are_not_seen(net, inputs):
    """A recurrent mask held over a sequence hides the same channels in every step."""
    z, action, state = inputs
    masks = Masks(recurrent=draw_recurrent_masks(3, seeded(3)))
    other = tuple((hidden + 5.0 * (mask == 0), cell) for (hidden, cell), mask in zip(state, masks.recurrent, strict=True))
    for _ in range(3):
        z_one, state = net.step(z, action, state, masks)
        z_two, other = net.step(z, action, other, masks)
        torch.testing.assert_close(z_one, z_two)


def test_masks_have_the_right_rates_and_unit_mean():
    recurrent, between = draw_recurrent_masks(400, seeded(0)), draw_between_mask(400, seeded(0))
    assert len(recurrent) == 2 and recurrent[0].shape == between.shape == (400, HIDDEN, 1, 1)
    for mask, drop in ((recurrent[0], 0.15), (recurrent[1], 0.15), (between, 0.3)):
        assert abs((mask == 0).float().mean().item() - drop) < 0.01
        assert abs(mask.mean().item() - 1.0) < 0.02
    assert not torch.equal(recurrent[0], recurrent[1])


def test_same_seed_draws_the_same_masks():
    assert torch.equal(draw_between_mask(4, seeded(7)), draw_between_mask(4, seeded(7)))
    assert not torch.equal(draw_between_mask(4, seeded(7)), draw_between_mask(4, seeded(8)))


def test_samples_of_a_batch_do_not_mix(net, inputs):
    z, action, state = inputs
    together, _ = net.step(z, action, state)
    alone, _ = net.step(z[1:2], action[1:2], tuple((hidden[1:2], cell[1:2]) for hidden, cell in state))
    torch.testing.assert_close(together[1:2], alone, rtol=1e-4, atol=1e-5)


def test_sharing_weights_over_a_rollout_gives_the_same_gradient(net, inputs):
    z, action, state = inputs

    def gradient() -> torch.Tensor:
        net.zero_grad()
        z_next, new_state = net.step(z, action, state)
        net.step(z_next, action, new_state)[0].square().sum().backward()
        return net.cells[1].gates.weight.grad.clone()

    with net.shared_weights():
        shared = gradient()
    torch.testing.assert_close(shared, gradient(), rtol=1e-3, atol=1e-3)


def test_latent_statistics_standardise_inside(net, inputs):
    """Latents of another scale with matching statistics give the same step in that scale."""
    z, action, state = inputs
    plain, _ = net.step(z, action, state)
    net.latent_mean.fill_(2.0)
    net.latent_std.fill_(10.0)
    scaled, _ = net.step(10.0 * z + 2.0, action, state)
    torch.testing.assert_close(scaled, 10.0 * plain + 2.0, rtol=1e-4, atol=1e-3)
