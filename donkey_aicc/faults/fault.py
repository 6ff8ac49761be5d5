"""From a protocol's name to the faults that play it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.command_faults import Bias, CommandFault, LateCommands
from donkey_aicc.faults.protocols import (
    PROTOCOLS,
    BiasParameters,
    BlurParameters,
    DarkParameters,
    LatencyParameters,
    parameters,
)
from donkey_aicc.faults.sensor_faults import Blur, Dark, LateFrames, SensorFault

SENSOR_SIDE = ("dark", "blur", "latency")
COMMAND_SIDE = ("bias", "latency")


@dataclass(frozen=True)
class Fault:
    """One protocol being played; a side that it leaves alone is None."""

    protocol: str
    severity: int
    sensor: SensorFault | None
    command: CommandFault | None

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
    entropy = (seed, list(PROTOCOLS).index(protocol), episode)
    sensor: SensorFault | None = None
    command: CommandFault | None = None
    if isinstance(row, DarkParameters):
        sensor = Dark(row)
    elif isinstance(row, BlurParameters):
        sensor = Blur(row)
    elif isinstance(row, BiasParameters):
        command = Bias(row, entropy)
    elif isinstance(row, LatencyParameters):
        sensor, command = LateFrames(row, rate_hz, entropy), LateCommands(row, rate_hz)
    return Fault(protocol, severity, sensor, command)
