import numpy as np
import pytest
import torch

from donkey_aicc.nets.dynamics import LatentDynamics, Masks
from donkey_aicc.scoring.ensemble import DynamicsEnsemble, EnsembleMasks
from donkey_aicc.scoring.randomness import FrameRandomness

SAMPLES, LANES = 3, 2


@pytest.fixture(scope="module")
def net():
    """Untrained, with norms and statistics that are not the identity."""
    torch.manual_seed(1)
    net = LatentDynamics().eval().requires_grad_(False)
    for cell in net.cells:
        cell.norm.weight.uniform_(0.5, 2.0)
        cell.norm.bias.uniform_(-1.0, 1.0)
    net.latent_mean.uniform_(-0.3, 0.3)
    net.latent_std.uniform_(0.5, 1.5)
    return net


def run_both(net, frames):
    """States of the ensemble and of LatentDynamics.step after the same frames and masks, and the last predictions."""
    randomness, ensemble = FrameRandomness(0, SAMPLES), DynamicsEnsemble(net, SAMPLES)
    recurrent = torch.from_numpy(randomness.recurrent_masks())
    state, plain = ensemble.initial_state(LANES), net.initial_state(LANES * SAMPLES)
    generator = torch.Generator().manual_seed(2)
    for t in range(frames):
        z = torch.randn(LANES, 64, 4, 4, generator=generator)
        action = torch.randn(LANES, 2, generator=generator)
        between = torch.from_numpy(randomness.between_masks(t, 6))
        state = ensemble.observe(z, action, state, EnsembleMasks(recurrent, between[0]))
        masks = as_masks(recurrent, between[0])
        ahead, plain = net.step(z.repeat_interleave(SAMPLES, 0), action.repeat_interleave(SAMPLES, 0), plain, masks)
    return ensemble, state, plain, (z, action, recurrent, between, ahead)


def as_masks(recurrent, between):
    def widen(mask):
        return mask.repeat(LANES, 1)[:, :, None, None]

    return Masks(tuple(widen(mask) for mask in recurrent), widen(between))


def test_observing_equals_the_nets_own_step(net):
    _, state, plain, _ = run_both(net, frames=5)
    for (hidden, cell), (plain_hidden, plain_cell) in zip(state, plain, strict=True):
        for ours, theirs in ((hidden, plain_hidden), (cell, plain_cell)):
            maps = ours.view(4, 4, LANES * SAMPLES, 128).permute(2, 3, 0, 1)
            torch.testing.assert_close(maps, theirs, atol=1e-4, rtol=0)


def test_the_rollout_equals_the_nets_own_steps_with_the_command_held(net):
    ensemble, state, plain, (z, action, recurrent, between, ahead) = run_both(net, frames=3)
    spreads = ensemble.rollout(z, action, state, recurrent, between)
    for step in range(len(between)):
        if step:
            masks = as_masks(recurrent, between[step])
            ahead, plain = net.step(ahead, action.repeat_interleave(SAMPLES, 0), plain, masks)
        expected = ahead.view(LANES, SAMPLES, -1).numpy().std(axis=1).mean(axis=1)
        np.testing.assert_allclose(spreads[:, step].numpy(), expected, atol=1e-5)
    assert (spreads > 1e-3).all()


def test_the_norm_on_the_gates_matters(net):
    """A fast path that forgot the GroupNorm would still pass on a net whose norm is the identity."""
    state = run_both(net, frames=2)[1]
    net.cells[0].norm.weight.mul_(1.5)
    changed = run_both(net, frames=2)[1]
    net.cells[0].norm.weight.div_(1.5)
    assert (state[0][0] - changed[0][0]).abs().max() > 1e-2


def test_kept_lanes_keep_their_state(net):
    ensemble, state, _, _ = run_both(net, frames=2)
    kept = ensemble.keep(state, torch.tensor([1]))
    torch.testing.assert_close(kept[1][0], state[1][0][:, SAMPLES:])
