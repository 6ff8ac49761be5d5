"""The nets that look at camera frames: the world model's VAE, the safety predictor, and the pilot.

- VAE: 64x64 camera frames <-> a 64x4x4 latent map (the e and d of the world model).
- Safety predictor g: a camera frame, or a few with their steering -> one logit per horizon ("still safe k steps from now?").
- End-to-end pilot: one camera frame -> steering and throttle.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from donkey_aicc.nets.preprocess import (
    CHANGE_GAIN,
    FEATURE_SIZE,
    FIRST_SIZE,
    LATENT_CHANNELS,
    LATENT_SIDE,
    PREDICTOR_DROPOUT,
    frames_in,
)

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


# Most of the parameters are in the first fully connected layer. Convolutions twice as wide would cost the control path more than
# twice as much, for each of the augmented views, and predict no better (studies/log.md).
SAFETY_CHANNELS = (16, 32, 64, 288)


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class SafetyCNN(nn.Module):
    """Four convolutions and three fully connected layers, about 2.6 M parameters.

    One pass serves all horizons. With history (preprocess.py) only the first convolution is larger, a fifth of the work more;
    older frames enter as their difference from the newest. The ReLU output of the second fully connected layer is the feature
    that distance- and norm-based methods read.
    """

    def __init__(self, horizons: int = 11, channels: tuple[int, ...] = SAFETY_CHANNELS, inputs: int = 3) -> None:
        super().__init__()
        self.inputs = inputs
        self.convolutions = nn.Sequential(*(_block(*pair) for pair in pairwise((inputs, *channels))))
        self.first = nn.Linear(channels[-1] * 4 * 4, FIRST_SIZE)
        self.second = nn.Linear(FIRST_SIZE, FEATURE_SIZE)
        self.third = nn.Linear(FEATURE_SIZE, horizons)
        self.dropout = nn.Dropout(PREDICTOR_DROPOUT)

    def seen(self, x: Tensor) -> Tensor:
        """x: (B, C, 64, 64) -> (B, 512), all before the first dropout."""
        older = frames_in(self.inputs) - 1
        if older:
            changes = [CHANGE_GAIN * (x[:, :3] - x[:, 3 * n : 3 * n + 3]) for n in range(1, older + 1)]
            x = torch.cat([x[:, :3] - 0.5, *changes, x[:, 3 * (older + 1) :]], dim=1)
        else:
            x = x - 0.5
        return torch.relu(self.first(self.convolutions(x).flatten(1)))

    def features_and_logits(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x: (B, C, 64, 64), C = 3 frames in [0, 1] or as `stacked` makes it -> features (B, 128) >= 0, logits (B, K)."""
        hidden = self.dropout(self.seen(x))
        features = torch.relu(self.second(hidden))
        return features, self.third(self.dropout(features))

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, C, 64, 64) -> logits (B, K)."""
        return self.features_and_logits(x)[1]


def convolution_channels(state: Mapping[str, np.ndarray]) -> tuple[int, ...]:
    """The widths that stored weights have: a wider or narrower net is a predictor too."""
    return tuple(len(state[f"convolutions.{number}.0.weight"]) for number in range(len(SAFETY_CHANNELS)))


class PilotNet(nn.Module):
    """Four convolutions and three fully connected layers after Bojarski et al. 2016, about 0.16 M parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(24, 36, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(36, 48, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(48, 64, 3),
            nn.ReLU(),
        )
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * 3 * 3, 100), nn.ReLU(), nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 2), nn.Tanh()
        )

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, 3, 64, 64) RGB in [0, 1] -> (B, 2): steering (+1 right) and throttle in [-1, 1]."""
        return self.head(self.convolutions(x - 0.5))
