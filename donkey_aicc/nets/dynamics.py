"""Latent dynamics f: two ConvLSTM layers that predict the next latent map from latents and actions.

Randomness is explicit: the caller draws `Masks` with its own generator and hands them to `step`; without masks a
step is deterministic, in training and evaluation mode alike. This is the net as it is trained; what drives and scores is the
graph of it (onnx_nets.py), which a test compares with this.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from donkey_aicc.nets import winograd_matrices as winograd
from donkey_aicc.nets.preprocess import (
    ACTION_CHANNELS,
    BETWEEN_DROPOUT,
    GATES,
    HIDDEN,
    LATENT_CHANNELS,
    LATENT_SIDE,
    LAYERS,
    POSITIONS,
    RECURRENT_DROPOUT,
)

# (hidden, cell) per layer, each (B, 128, 4, 4)
State = tuple[tuple[Tensor, Tensor], ...]


@dataclass(frozen=True)
class Masks:
    """Dropout multipliers of one step; they already hold the 1 / (1 - p) factor.

    recurrent: per layer (B, 128, 1, 1) or (B, 128, 4, 4), the same for all steps of a sequence.
    between: (B, 128, 1, 1) on what layer 1 hands to layer 2, new in every step; None switches it off.
    """

    recurrent: tuple[Tensor, ...] | None = None
    between: Tensor | None = None


def _keep(batch: int, drop: float, generator: torch.Generator | None) -> Tensor:
    device = generator.device if generator is not None else "cpu"
    kept = torch.rand(batch, HIDDEN, 1, 1, generator=generator, device=device) >= drop
    return kept.float() / (1.0 - drop)


def draw_recurrent_masks(batch: int, generator: torch.Generator | None) -> tuple[Tensor, ...]:
    """One variational mask per layer, each (B, 128, 1, 1): draw once per sequence. On the generator's device."""
    return tuple(_keep(batch, RECURRENT_DROPOUT, generator) for _ in range(LAYERS))


def draw_between_mask(batch: int, generator: torch.Generator | None) -> Tensor:
    """The mask between the layers, (B, 128, 1, 1): draw once per step. On the generator's device."""
    return _keep(batch, BETWEEN_DROPOUT, generator)


_INPUT, _WEIGHT, _OUTPUT = map(torch.from_numpy, (winograd.INPUT_2D, winograd.WEIGHT_2D, winograd.OUTPUT_2D))


def unfold_weight(weight: Tensor) -> Tensor:
    """(O, C, 3, 3) -> (36, C, O), to be computed once and used for many maps."""
    outputs, inputs = weight.shape[:2]
    return (_WEIGHT @ weight.permute(2, 3, 1, 0).reshape(9, -1)).view(winograd.PRODUCTS, inputs, outputs)


def convolve(x: Tensor, unfolded: Tensor) -> Tensor:
    """conv2d of (B, C, 4, 4) with padding 1 and no bias as 36 small products: 2.5 times faster on a CPU, also backwards."""
    side, batch = LATENT_SIDE, len(x)
    positions_first = x.permute(2, 3, 0, 1).reshape(POSITIONS, -1)
    factors = (_INPUT @ positions_first).view(winograd.PRODUCTS, batch, -1)
    maps = _OUTPUT @ torch.bmm(factors, unfolded).view(winograd.PRODUCTS, -1)
    return maps.view(side, side, batch, -1).permute(2, 3, 0, 1)


class _ConvLSTMCell(nn.Module):
    """One convolution over input and hidden state together, GroupNorm with one group per gate, then the LSTM update."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.gates = nn.Conv2d(inputs + HIDDEN, GATES * HIDDEN, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(GATES, GATES * HIDDEN)
        with torch.no_grad():  # start by remembering: forget gate near sigmoid(1)
            self.norm.bias[HIDDEN : 2 * HIDDEN] = 1.0
        self._shared: Tensor | None = None  # inside `shared_weights`

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor], mask: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden, cell = state
        if mask is not None:
            hidden = hidden * mask
        update, forget, output, candidate = self.norm(self._convolve(torch.cat((x, hidden), dim=1))).chunk(GATES, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(update) * torch.tanh(candidate)
        return torch.sigmoid(output) * torch.tanh(cell), cell

    def _convolve(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            return self.gates(x)
        return convolve(x, unfold_weight(self.gates.weight) if self._shared is None else self._shared)

    def share_weight(self, shared: bool) -> None:
        """Unfold the weight once for all following steps, with its gradient where there is one, or stop doing so."""
        on_cpu = self.gates.weight.device.type == "cpu"
        self._shared = unfold_weight(self.gates.weight) if shared and on_cpu else None


class LatentDynamics(nn.Module):
    """z' = z + gate * dz, about 2.4 M parameters.

    Latents are standardised inside with the training statistics held in the buffers `latent_mean` and `latent_std`,
    so that callers pass and get plain VAE latents.
    """

    latent_mean: Tensor
    latent_std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.action = nn.Sequential(
            nn.Linear(2, 64), nn.ReLU(inplace=True), nn.Linear(64, ACTION_CHANNELS * LATENT_SIDE * LATENT_SIDE)
        )
        self.cells = nn.ModuleList([_ConvLSTMCell(LATENT_CHANNELS + ACTION_CHANNELS), _ConvLSTMCell(HIDDEN)])
        self.head = nn.Conv2d(HIDDEN, 2 * LATENT_CHANNELS, 3, padding=1)
        with torch.no_grad():  # start near copying, or an untrained rollout runs away within a few steps
            for parameter in self.head.parameters():
                parameter[:LATENT_CHANNELS].mul_(0.1)
        self.register_buffer("latent_mean", torch.zeros(1, LATENT_CHANNELS, 1, 1))
        self.register_buffer("latent_std", torch.ones(1, LATENT_CHANNELS, 1, 1))

    def initial_state(self, batch: int, device: torch.device | str = "cpu") -> State:
        """The all-zero state before the first frame."""
        shape = (batch, HIDDEN, LATENT_SIDE, LATENT_SIDE)
        return tuple((torch.zeros(shape, device=device), torch.zeros(shape, device=device)) for _ in range(LAYERS))

    @contextmanager
    def shared_weights(self) -> Iterator[None]:
        """On a CPU: prepare the weights once for all steps of a rollout instead of in every step."""
        cells = [cell for cell in self.cells if isinstance(cell, _ConvLSTMCell)]
        for cell in cells:
            cell.share_weight(True)
        try:
            yield
        finally:
            for cell in cells:
                cell.share_weight(False)

    def step(self, z: Tensor, action: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
        """z (B, 64, 4, 4) and normalised action (B, 2) at t -> z (B, 64, 4, 4) at t + 1 and the new state."""
        recurrent = masks.recurrent if masks is not None else None
        embedded = self.action(action).view(-1, ACTION_CHANNELS, LATENT_SIDE, LATENT_SIDE)
        x = torch.cat(((z - self.latent_mean) / self.latent_std, embedded), dim=1)
        new_state = []
        for number, cell in enumerate(self.cells):
            if number == 1 and masks is not None and masks.between is not None:
                x = x * masks.between
            new_state.append(cell(x, state[number], recurrent[number] if recurrent is not None else None))
            x = new_state[-1][0]
        change, gate = self.head(x).chunk(2, dim=1)
        return z + torch.sigmoid(gate) * change * self.latent_std, tuple(new_state)
