"""The nets on torch, arranged for speed: for tools, for GPUs, and for bundles without ONNX files.

The dynamics stays in the positions-first layout of the Winograd products; the GroupNorm on the gates is part of it.
"""

from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from donkey_aicc.nets import fast_conv
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.fast_conv import for_inference
from donkey_aicc.nets.preprocess import ACTION_CHANNELS, GATES, HIDDEN, LATENT_CHANNELS, LATENT_SIDE, POSITIONS
from donkey_aicc.nets.runtime import TORCH, Runtime, State, StepMasks

if TYPE_CHECKING:
    from donkey_aicc.nets.bundle import Bundle

_GROUP = HIDDEN * POSITIONS  # numbers per GroupNorm group: one group is one gate


class TorchRuntime(Runtime):
    """The nets of a loaded bundle, on the device where they are."""

    name = TORCH

    def __init__(self, bundle: "Bundle") -> None:
        super().__init__(bundle)
        self._vae = for_inference(bundle.vae)
        self._safety = for_inference(bundle.safety) if bundle.has_predictor else None
        self._device = next(bundle.vae.parameters()).device
        self._dynamics = _Dynamics(bundle.dynamics, self._device)

    def prepare_thread(self, threads: int) -> None:
        # set_num_threads acts on the calling thread only, but a thread's first torch call would put the process-wide
        # value back; so that call comes first.
        torch.get_num_threads()
        torch.set_num_threads(threads)

    @torch.inference_mode()
    def encode(self, images: np.ndarray) -> np.ndarray:
        return self._vae.encode(self._tensor(images))[0].cpu().numpy()

    @torch.inference_mode()
    def decode(self, latents: np.ndarray) -> np.ndarray:
        return self._vae.decode(self._tensor(latents)).cpu().numpy()

    @torch.inference_mode()
    def predict(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self._safety is not None, "the bundle has no safety predictor"
        features, logits = self._safety.features_and_logits(self._tensor(images))
        return features.cpu().numpy(), logits.cpu().numpy()

    @torch.inference_mode()
    def command(self, action: np.ndarray) -> np.ndarray:
        return self._dynamics.command(self._tensor(action))[:, :, None].cpu().numpy()

    @torch.inference_mode()
    def step(self, z: np.ndarray, command: np.ndarray, state: State, masks: StepMasks) -> tuple[np.ndarray, State]:
        tensors = [self._tensor(each) for each in (z, command, *state, masks.recurrent, masks.between)]
        ahead, *new = (each.cpu().numpy() for each in self._dynamics.step(*tensors))
        return ahead, cast(State, tuple(new))

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(self._device)


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
        by_gate = gates.view(POSITIONS, gates.shape[1], GATES, HIDDEN)
        by_gate.sub_((_per_gate(gates.sum(dim=0)) / _GROUP)[..., None])
        variance = _per_gate((gates * gates).sum(dim=0)) / _GROUP
        scale = torch.rsqrt(variance + self._eps)[..., None] * self._scale
        by_gate.mul_(scale).add_(self._shift).sigmoid_()
        return by_gate.unbind(dim=2)


def _per_gate(channels: Tensor) -> Tensor:
    """(B, 512) -> (B, 4)."""
    return channels.view(-1, GATES, HIDDEN).sum(dim=-1)


class _Dynamics:
    """One step of a frozen LatentDynamics net for L lanes of S samples that differ by their dropout masks only."""

    def __init__(self, net: LatentDynamics, device: torch.device) -> None:
        self._net, self._device = net, device
        self._mean, self._std = net.latent_mean.view(-1), net.latent_std.view(-1)
        with torch.no_grad():
            first, self._second = (self._unfold(cast(nn.Conv2d, cell.gates)) for cell in net.cells)
            action_end = LATENT_CHANNELS + ACTION_CHANNELS
            self._first_action = first[:, LATENT_CHANNELS:action_end].contiguous()
            self._first_own = torch.cat((first[:, :LATENT_CHANNELS], first[:, action_end:]), dim=1)  # latent, hidden
            self._head, self._head_bias = self._unfold(net.head), cast(Tensor, net.head.bias)
            self._norms = [_GateNorm(cast(nn.GroupNorm, cell.norm)) for cell in net.cells]

    def _unfold(self, convolution: nn.Conv2d) -> Tensor:
        return fast_conv.unfold_weight(convolution.weight.detach().cpu()).to(self._device)

    def command(self, action: Tensor) -> Tensor:
        """(L, 2) -> (16, L, 512)."""
        embedded = self._net.action(action).view(-1, ACTION_CHANNELS, LATENT_SIDE, LATENT_SIDE)
        return fast_conv.convolve(fast_conv.positions_first(embedded), self._first_action)

    def step(
        self,
        z: Tensor,
        command: Tensor,
        hidden1: Tensor,
        cell1: Tensor,
        hidden2: Tensor,
        cell2: Tensor,
        recurrent: Tensor,
        between: Tensor,
    ) -> tuple[Tensor, ...]:
        """See Runtime.step: z and the state after it, all (16, L, S, C)."""
        lanes, samples = z.shape[1:3]
        inputs = torch.cat(((z - self._mean) / self._std, hidden1 * recurrent[0]), dim=3)
        gates = fast_conv.convolve(inputs.flatten(1, 2), self._first_own).view(POSITIONS, lanes, samples, -1).add_(command)
        hidden1, cell1 = self._cell(0, gates, cell1)
        inputs = torch.cat((hidden1 * between, hidden2 * recurrent[1]), dim=3)
        hidden2, cell2 = self._cell(1, fast_conv.convolve(inputs.flatten(1, 2), self._second), cell2)
        out = fast_conv.convolve(hidden2.flatten(1, 2), self._head).view(POSITIONS, lanes, samples, -1) + self._head_bias
        change, gate = out.chunk(2, dim=3)
        return z + torch.sigmoid(gate) * change * self._std, hidden1, cell1, hidden2, cell2

    def _cell(self, layer: int, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """cell' = f c + i (2 h - 1) and hidden' = o (2 sigmoid(2 cell') - 1), in few passes over the memory."""
        activated = self._norms[layer].activate(gates.view(POSITIONS, -1, GATES * HIDDEN))
        update, forget, output, half_candidate = (each.view(cell.shape) for each in activated)
        cell = (forget * cell).sub_(update).addcmul_(update, half_candidate, value=2)
        return torch.neg(output).addcmul_(output, (2 * cell).sigmoid_(), value=2), cell
