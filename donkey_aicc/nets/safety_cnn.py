"""Safety predictor g: one camera frame -> one logit per horizon ("is the car still safe k steps from now?")."""

from collections.abc import Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn

FEATURE_SIZE = 128
DROPOUT = 0.3
# Most of the parameters are in the first fully connected layer. Convolutions twice as wide would cost the control path more than
# twice as much, for each of the augmented views, and predict no better (docs/experiments.md).
CHANNELS = (16, 32, 64, 288)


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class SafetyCNN(nn.Module):
    """Four convolutions and three fully connected layers, about 2.6 M parameters.

    One pass serves all horizons. The ReLU output of the second fully connected layer is the feature that
    distance- and norm-based methods read.
    """

    def __init__(self, horizons: int = 11, channels: tuple[int, ...] = CHANNELS) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(*(_block(*pair) for pair in pairwise((3, *channels))))
        self.first = nn.Linear(channels[-1] * 4 * 4, 512)
        self.second = nn.Linear(512, FEATURE_SIZE)
        self.third = nn.Linear(FEATURE_SIZE, horizons)
        self.dropout = nn.Dropout(DROPOUT)

    def features_and_logits(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x: (B, 3, 64, 64) in [0, 1] -> features (B, 128) >= 0, logits (B, K)."""
        hidden = self.convolutions(x - 0.5).flatten(1)
        hidden = self.dropout(torch.relu(self.first(hidden)))
        features = torch.relu(self.second(hidden))
        return features, self.third(self.dropout(features))

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, 3, 64, 64) in [0, 1] -> logits (B, K)."""
        return self.features_and_logits(x)[1]


def convolution_channels(state: Mapping[str, Tensor]) -> tuple[int, ...]:
    """The widths that stored weights have: bundles made before the net became narrower still load.

    Weights of some other net get the usual widths, so that loading them says what does not fit.
    """
    found = tuple(len(weight) for name, weight in sorted(state.items()) if name.startswith("convolutions.") and weight.dim() == 4)
    return found if len(found) == len(CHANNELS) else CHANNELS
