"""Convolutional VAE: 64x64 camera frames <-> a 64x4x4 latent map (the e and d of the world model)."""

import torch
from torch import Tensor, nn

from donkey_aicc.nets.shapes import LATENT_CHANNELS, LATENT_SIDE

# exp(logvar) stays a finite, trainable variance inside these bounds
LOGVAR_MIN, LOGVAR_MAX = -12.0, 6.0


def _down(inputs: int, outputs: int) -> nn.Sequential:
    """Halve the side."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


def _up(inputs: int, outputs: int) -> nn.Sequential:
    """Double the side; a transposed convolution works at the small resolution, which is what keeps the decoder cheap."""
    return nn.Sequential(
        nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class _Residual(nn.Module):
    """x + two 3x3 convolutions, same shape."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, hidden, 3, padding=1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU(inplace=True),
            nn.Conv2d(hidden, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.body(x))


class _Mixing(nn.Module):
    """A 3x3 convolution plus a two-layer perceptron over the whole 4x4 map, added.

    The perceptron sees the scene as a whole and holds many parameters at one multiplication each.
    """

    def __init__(self, inputs: int, outputs: int, hidden: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.local = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.first = nn.Linear(inputs * LATENT_SIDE * LATENT_SIDE, hidden)
        self.second = nn.Linear(hidden, outputs * LATENT_SIDE * LATENT_SIDE)

    def forward(self, x: Tensor) -> Tensor:
        whole = self.second(torch.relu(self.first(x.flatten(1))))
        return self.local(x) + whole.view(-1, self.outputs, LATENT_SIDE, LATENT_SIDE)


class VAE(nn.Module):
    """About 5.3 M parameters; encoding takes 30 and decoding 65 million multiplications a frame."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            _down(3, 32),
            _down(32, 64),
            _down(64, 128),
            _down(128, 192),
            _Mixing(192, 2 * LATENT_CHANNELS, hidden=256),
        )
        self.decoder = nn.Sequential(
            _Mixing(LATENT_CHANNELS, 192, hidden=448),
            nn.BatchNorm2d(192),
            nn.ReLU(inplace=True),
            _Residual(192, 128),
            _up(192, 128),
            _Residual(128, 96),
            _up(128, 64),
            _Residual(64, 48),
            _up(64, 32),
            nn.Conv2d(32, 3 * 4, 3, padding=1),
            nn.PixelShuffle(2),
        )

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x: (B, 3, 64, 64) in [0, 1] -> mean, logvar: (B, 64, 4, 4) each."""
        mean, logvar = self.encoder(x - 0.5).chunk(2, dim=1)
        return mean, logvar.clamp(LOGVAR_MIN, LOGVAR_MAX)

    def decode(self, z: Tensor) -> Tensor:
        """z: (B, 64, 4, 4) -> images (B, 3, 64, 64) in [0, 1]."""
        return torch.sigmoid(self.decoder(z))

    def forward(self, x: Tensor) -> Tensor:
        """Reconstruction through the latent mean, without sampling: what the perception score compares with x."""
        return self.decode(self.encode(x)[0])
