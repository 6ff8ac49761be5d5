"""S dropout samples of the latent dynamics for L lanes at once: the maths of LatentDynamics.step, arranged for speed.

Everything stays in the positions-first layout (16, L * S, C) of the Winograd products, and what all samples share is
computed once per lane: the observed latent and the command of a living step, the held command of a rollout. The
GroupNorm on the gates is part of it, as in the net.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from donkey_aicc.nets import winograd
from donkey_aicc.nets.dynamics import ACTION_CHANNELS, GATES, HIDDEN, LatentDynamics
from donkey_aicc.nets.vae import LATENT_CHANNELS, LATENT_SIDE
from donkey_aicc.nets.winograd import POSITIONS

_GROUP = HIDDEN * POSITIONS  # numbers per GroupNorm group: one group is one gate

# (hidden, cell) per layer, each (16, L * S, 128)
EnsembleState = tuple[tuple[Tensor, Tensor], ...]


@dataclass(frozen=True)
class EnsembleMasks:
    """Dropout multipliers shared by all lanes: recurrent (2, S, 128) and between (S, 128)."""

    recurrent: Tensor
    between: Tensor


class _GateNorm:
    """GroupNorm with one group per gate and all four activations, in place.

    tanh(x) is taken as 2 sigmoid(2x) - 1, because one sigmoid over all gates is several times faster than a tanh; the
    doubling of the candidate's argument is folded into the norm's weight and bias.
    """

    def __init__(self, norm: nn.GroupNorm) -> None:
        double_candidate = torch.tensor([1.0, 1.0, 1.0, 2.0], device=norm.weight.device)[:, None]
        self._scale = norm.weight.detach().view(GATES, HIDDEN) * double_candidate
        self._shift = norm.bias.detach().view(GATES, HIDDEN) * double_candidate
        self._eps = norm.eps

    def activate(self, gates: Tensor) -> tuple[Tensor, ...]:
        """(16, B, 512) -> update, forget, output and (candidate + 1) / 2, each (16, B, 128); `gates` is overwritten."""
        batch = gates.shape[1]
        by_gate = gates.view(POSITIONS, batch, GATES, HIDDEN)
        by_gate.sub_((_per_gate(gates.sum(dim=0)) / _GROUP)[..., None])
        variance = _per_gate((gates * gates).sum(dim=0)) / _GROUP
        scale = torch.rsqrt(variance + self._eps)[..., None] * self._scale
        by_gate.mul_(scale).add_(self._shift).sigmoid_()
        return by_gate.unbind(dim=2)


def _per_gate(channels: Tensor) -> Tensor:
    """(B, 512) -> (B, 4)."""
    return channels.view(-1, GATES, HIDDEN).sum(dim=-1)


class DynamicsEnsemble:
    """A frozen LatentDynamics net, run as S samples that differ by their dropout masks only."""

    def __init__(self, net: LatentDynamics, samples: int) -> None:
        self._net, self._samples = net, samples
        self._device = net.latent_mean.device
        with torch.no_grad():
            first, self._second = (self._unfold(cast(nn.Conv2d, cell.gates)) for cell in net.cells)
            action_end = LATENT_CHANNELS + ACTION_CHANNELS
            self._first_action = first[:, LATENT_CHANNELS:action_end].contiguous()
            self._first_own = torch.cat((first[:, :LATENT_CHANNELS], first[:, action_end:]), dim=1)  # latent, hidden
            self._head, self._head_bias = self._unfold(net.head), cast(Tensor, net.head.bias)
            self._norms = [_GateNorm(cast(nn.GroupNorm, cell.norm)) for cell in net.cells]

    def _unfold(self, convolution: nn.Conv2d) -> Tensor:
        return winograd.unfold_weight(convolution.weight.detach().cpu()).to(self._device)

    def initial_state(self, lanes: int) -> EnsembleState:
        """The all-zero state before the first frame."""
        zeros = torch.zeros(POSITIONS, lanes * self._samples, HIDDEN, device=self._device)
        return tuple((zeros.clone(), zeros.clone()) for _ in self._norms)

    def keep(self, state: EnsembleState, lanes: Tensor) -> EnsembleState:
        """The state of these lanes only."""

        def picked(x: Tensor) -> Tensor:
            return x.view(POSITIONS, -1, self._samples, HIDDEN)[:, lanes].reshape(POSITIONS, -1, HIDDEN)

        return tuple((picked(hidden), picked(cell)) for hidden, cell in state)

    def without_non_finite(self, state: EnsembleState) -> tuple[EnsembleState, np.ndarray]:
        """The state with lanes that hold a NaN or an infinity set back to zero, and which those are: (L,) bool."""
        numbers = sum(self._by_sample(x).sum(dim=(0, 2, 3)) for layer in state for x in layer)
        spoiled = ~torch.isfinite(cast(Tensor, numbers))
        if not bool(spoiled.any()):
            return state, spoiled.cpu().numpy()
        mask = spoiled.repeat_interleave(self._samples)[:, None]
        cleaned = tuple((hidden.masked_fill(mask, 0.0), cell.masked_fill(mask, 0.0)) for hidden, cell in state)
        return cleaned, spoiled.cpu().numpy()

    @torch.inference_mode()
    def observe(self, z: Tensor, action: Tensor, state: EnsembleState, masks: EnsembleMasks) -> EnsembleState:
        """Advance all samples by one seen frame: z (L, 64, 4, 4), normalised action (L, 2)."""
        standard = winograd.positions_first((z - self._net.latent_mean) / self._net.latent_std)
        shared = winograd.convolve(standard, self._first_own[:, :LATENT_CHANNELS]) + self._command(action)
        hidden = torch.empty_like(state[0][0])
        self._mask_into(hidden, state[0][0], masks.recurrent[0])
        own = winograd.convolve(hidden, self._first_own[:, LATENT_CHANNELS:])
        return self._layers(own, shared, state, masks)

    @torch.inference_mode()
    def rollout(
        self,
        z: Tensor,
        action: Tensor,
        state: EnsembleState,
        recurrent: Tensor,
        between: Tensor,
        pause: Callable[[], None] | None = None,
    ) -> Tensor:
        """Disagreement of the samples, (L, K): mean over latent numbers of the std over samples, 1..K steps ahead.

        state: the living state that has seen z (L, 64, 4, 4) and the normalised action (L, 2); so it already holds
        the step to t + 1, and between (K, S, 128) is used from its second row on. The command is held. `pause` is
        called before every step.
        """
        lanes = len(z)
        command = self._command(action)
        ahead = winograd.positions_first(z).repeat_interleave(self._samples, dim=1)
        inputs = ahead.new_empty(POSITIONS, lanes * self._samples, LATENT_CHANNELS + HIDDEN)
        mean, std = self._net.latent_mean.view(-1), self._net.latent_std.view(-1)
        spreads = []
        for step in range(len(between)):
            if pause is not None:
                pause()
            if step:
                torch.div(ahead - mean, std, out=inputs[..., :LATENT_CHANNELS])
                self._mask_into(inputs[..., LATENT_CHANNELS:], state[0][0], recurrent[0])
                own = winograd.convolve(inputs, self._first_own)
                state = self._layers(own, command, state, EnsembleMasks(recurrent, between[step]))
            ahead = self._next_latent(ahead, state[1][0])
            spreads.append(self._disagreement(ahead))
        return torch.stack(spreads, dim=1)

    def _command(self, action: Tensor) -> Tensor:
        """What the command adds to the first layer's gates: (16, L, 512)."""
        embedded = self._net.action(action).view(-1, ACTION_CHANNELS, LATENT_SIDE, LATENT_SIDE)
        return winograd.convolve(winograd.positions_first(embedded), self._first_action)

    def _mask_into(self, out: Tensor, x: Tensor, mask: Tensor) -> None:
        """out = x (16, L * S, 128) times mask (S, 128); `out` may be a part of a wider tensor."""
        torch.mul(self._by_sample(x), mask, out=self._by_sample(out))

    def _by_sample(self, x: Tensor) -> Tensor:
        """(16, L * S, C) -> (16, L, S, C), a view."""
        return x.unflatten(1, (-1, self._samples))

    def _layers(self, own: Tensor, shared: Tensor, state: EnsembleState, masks: EnsembleMasks) -> EnsembleState:
        """own (16, L * S, 512) and shared (16, L, 512): the two shares of the first layer's gates before the norm."""
        self._by_sample(own).add_(shared[:, :, None])
        first = self._cell(0, own, state[0][1])
        inputs = own.new_empty(POSITIONS, own.shape[1], 2 * HIDDEN)
        self._mask_into(inputs[..., :HIDDEN], first[0], masks.between)
        self._mask_into(inputs[..., HIDDEN:], state[1][0], masks.recurrent[1])
        return first, self._cell(1, winograd.convolve(inputs, self._second), state[1][1])

    def _cell(self, layer: int, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """cell' = f c + i (2 h - 1) and hidden' = o (2 sigmoid(2 cell') - 1), in few passes over the memory."""
        update, forget, output, half_candidate = self._norms[layer].activate(gates)
        cell = (forget * cell).sub_(update).addcmul_(update, half_candidate, value=2)
        return torch.neg(output).addcmul_(output, (2 * cell).sigmoid_(), value=2), cell

    def _next_latent(self, z: Tensor, hidden: Tensor) -> Tensor:
        out = winograd.convolve(hidden, self._head) + self._head_bias
        change, gate = out.chunk(2, dim=2)
        return z + torch.sigmoid(gate) * change * self._net.latent_std.view(-1)

    def _disagreement(self, z: Tensor) -> Tensor:
        """z (16, L * S, 64) -> (L,)."""
        samples = self._by_sample(z)
        centred = samples - samples.mean(dim=2, keepdim=True)
        return centred.square_().mean(dim=2).sqrt_().mean(dim=(0, 2))
