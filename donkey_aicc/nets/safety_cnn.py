"""Safety predictor g: a camera frame, or a few with their steering -> one logit per horizon ("still safe k steps from now?")."""

from collections.abc import Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn

from donkey_aicc.nets.history import CHANGE_GAIN, frames_in
from donkey_aicc.nets.shapes import FEATURE_SIZE

DROPOUT = 0.3
# Most of the parameters are in the first fully connected layer. Convolutions twice as wide would cost the control path more than
# twice as much, for each of the augmented views, and predict no better (studies/log.md).
CHANNELS = (16, 32, 64, 288)


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class SafetyCNN(nn.Module):
    """Four convolutions and three fully connected layers, about 2.6 M parameters.

    One pass serves all horizons. With history (nets/history.py) only the first convolution is larger, a fifth of the work more;
    older frames enter as their difference from the newest. The ReLU output of the second fully connected layer is the feature
    that distance- and norm-based methods read.
    """

    def __init__(self, horizons: int = 11, channels: tuple[int, ...] = CHANNELS, inputs: int = 3) -> None:
        super().__init__()
        self.inputs = inputs
        self.convolutions = nn.Sequential(*(_block(*pair) for pair in pairwise((inputs, *channels))))
        self.first = nn.Linear(channels[-1] * 4 * 4, 512)
        self.second = nn.Linear(512, FEATURE_SIZE)
        self.third = nn.Linear(FEATURE_SIZE, horizons)
        self.dropout = nn.Dropout(DROPOUT)

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
        """x: (B, C, 64, 64), C = 3 frames in [0, 1] or as `history.stacked` makes it -> features (B, 128) >= 0, logits (B, K)."""
        hidden = self.dropout(self.seen(x))
        features = torch.relu(self.second(hidden))
        return features, self.third(self.dropout(features))

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, C, 64, 64) -> logits (B, K)."""
        return self.features_and_logits(x)[1]


def convolution_channels(state: Mapping[str, Tensor]) -> tuple[int, ...]:
    """The widths that stored weights have: bundles made before the net became narrower still load.

    Weights of some other net get the usual widths, so that loading them says what does not fit.
    """
    found = tuple(len(weight) for name, weight in sorted(state.items()) if name.startswith("convolutions.") and weight.dim() == 4)
    return found if len(found) == len(CHANNELS) else CHANNELS


def input_width(state: Mapping[str, Tensor]) -> int:
    """The input channels that stored weights have: 3 without history."""
    weight = state.get("convolutions.0.0.weight")
    return 3 if weight is None or weight.dim() != 4 else weight.shape[1]
