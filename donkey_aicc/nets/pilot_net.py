"""End-to-end pilot: one camera frame -> steering and throttle."""

from torch import Tensor, nn


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
