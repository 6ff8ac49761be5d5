"""Convolutional VAE: 64x64 camera frames <-> a 64x4x4 latent map (the e and d of the world model)."""

import torch
from torch import Tensor, nn

LATENT_CHANNELS = 64
LATENT_SIDE = 4
LATENT_SHAPE = (LATENT_CHANNELS, LATENT_SIDE, LATENT_SIDE)
IMAGE_SIDE = 64

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

    def __init__(self, channels: int, hidden: int | None = None) -> None:
        super().__init__()
        hidden = hidden or channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, hidden, 3, padding=1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU(inplace=True),
            nn.Conv2d(hidden, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.body(x))


class VAE(nn.Module):
    """About 5.5 M parameters; most of them sit at 4x4 where they cost few multiplications."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            _down(3, 32),
            _down(32, 64),
            _down(64, 128),
            _down(128, 256),
            _Residual(256),
            nn.Conv2d(256, 2 * LATENT_CHANNELS, 3, padding=1),
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(LATENT_CHANNELS, 256, 3, padding=1, bias=False),
            nn.BatchNorm2d(256),
            nn.ReLU(inplace=True),
            _Residual(256, 320),
            _up(256, 192),
            _Residual(192, 96),
            _up(192, 96),
            _Residual(96, 48),
            _up(96, 48),
            nn.Conv2d(48, 3 * 4, 3, padding=1),
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
