import numpy as np
import pytest
import torch

from donkey_aicc.nets.dynamics import LatentDynamics, Masks
from donkey_aicc.nets.runtime import initial_state
from donkey_aicc.nets.torch_runtime import _Dynamics

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


@torch.inference_mode()
def run_both(net, frames):
    """(z, state) of the fast step and of LatentDynamics.step, fed with their own predictions and the same masks."""
    dynamics, rng = _Dynamics(net, torch.device("cpu")), np.random.default_rng(2)
    state, plain = [torch.from_numpy(each) for each in initial_state(LANES, SAMPLES)], net.initial_state(LANES * SAMPLES)
    recurrent = torch.from_numpy(rng.uniform(0, 2, (2, SAMPLES, 128)).astype(np.float32))
    plain_z = torch.from_numpy(rng.normal(size=(LANES * SAMPLES, 64, 4, 4)).astype(np.float32))
    z = plain_z.permute(2, 3, 0, 1).reshape(16, LANES, SAMPLES, 64)
    for _ in range(frames):
        action = torch.from_numpy(rng.normal(size=(LANES, 2)).astype(np.float32))
        between = torch.from_numpy(rng.uniform(0, 2, (LANES, SAMPLES, 128)).astype(np.float32))
        z, *state = dynamics.step(z, dynamics.command(action)[:, :, None], *state, recurrent, between)
        masks = Masks(tuple(mask.repeat(LANES, 1)[..., None, None] for mask in recurrent), between.flatten(0, 1)[..., None, None])
        plain_z, plain = net.step(plain_z, action.repeat_interleave(SAMPLES, 0), plain, masks)
    return (z, *state), (plain_z, *plain[0], *plain[1])


def test_a_step_equals_the_nets_own(net):
    for ours, theirs in zip(*run_both(net, frames=5), strict=True):
        maps = ours.view(4, 4, LANES * SAMPLES, -1).permute(2, 3, 0, 1)
        torch.testing.assert_close(maps, theirs, atol=1e-4, rtol=0)


def test_the_norm_on_the_gates_matters(net):
    """A fast path that forgot the GroupNorm would still pass on a net whose norm is the identity."""
    state = run_both(net, frames=2)[0]
    net.cells[0].norm.weight.mul_(1.5)
    changed = run_both(net, frames=2)[0]
    net.cells[0].norm.weight.div_(1.5)
    assert (state[1] - changed[1]).abs().max() > 1e-2
