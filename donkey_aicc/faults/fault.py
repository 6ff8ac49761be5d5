"""From a fault's name to what plays it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.body import Body
from donkey_aicc.faults.command_faults import Bias, CommandFault, LateCommands, SpeedMismatch
from donkey_aicc.faults.driven import FAULTS, CorruptionParameters, SpeedMismatchParameters, parameters
from donkey_aicc.faults.protocols import BiasParameters, BlurParameters, DarkParameters, LatencyParameters
from donkey_aicc.faults.sensor_faults import Blur, CorruptedFrames, Dark, LateFrames, SensorFault


@dataclass(frozen=True)
class Fault:
    """One fault being played; a side that it leaves alone is None."""

    protocol: str
    severity: int
    sensor: SensorFault | None
    command: CommandFault | None
    body: Body | None = None  # what it makes of the car itself

    def reset(self) -> None:
        """Play the same episode again from its first tick."""
        for side in (self.sensor, self.command):
            if side is not None:
                side.reset()


def make_fault(
    protocol: str,
    severity: int,
    *,
    rate_hz: float = 20.0,
    seed: int = 0,
    episode: int = 0,
    overrides: Mapping[str, Any] | None = None,
) -> Fault:
    """The fault of one episode: the same seed and episode number give the same fault, tick by tick."""
    if not rate_hz > 0:
        raise ConfigError(f"rate_hz must be > 0, got {rate_hz!r}")
    row = parameters(protocol, severity, overrides)
    entropy = (seed, list(FAULTS).index(protocol), episode)
    sensor: SensorFault | None = None
    command: CommandFault | None = None
    if isinstance(row, DarkParameters):
        sensor = Dark(row, entropy)
    elif isinstance(row, BlurParameters):
        sensor = Blur(row)
    elif isinstance(row, BiasParameters):
        command = Bias(row, entropy)
    elif isinstance(row, LatencyParameters):
        sensor, command = LateFrames(row, rate_hz, entropy), LateCommands(row, rate_hz)
    elif isinstance(row, CorruptionParameters):
        sensor = CorruptedFrames(protocol, row.strength, entropy)
    elif isinstance(row, SpeedMismatchParameters):
        command = SpeedMismatch(row.throttle_factor)
    return Fault(protocol, severity, sensor, command, _to_one_side(row, entropy) if isinstance(row, Body) else None)


def _to_one_side(body: Body, entropy: tuple[int, ...]) -> Body:
    """A wheel drags on the left or on the right, drawn per episode."""
    side = 1.0 if np.random.default_rng(entropy).random() < 0.5 else -1.0
    return replace(body, pull_per_m=side * body.pull_per_m)
