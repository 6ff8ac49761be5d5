"""What `donkey-aicc sim-server` was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.fault import parse_schedule
from donkey_aicc.simulator.tracks import make_track

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORT = 9091


@dataclass(frozen=True)
class ServerSettings:
    host: str = LOOPBACK[0]
    port: int = PORT
    track: str | None = None  # of every scene; None: each scene has its own
    rate_hz: float = 20.0  # ticks in a second
    stepped: bool = False  # a tick for every command instead of by the clock
    faults: str | None = None  # of every car
    faults_by_name: Mapping[str, str] = field(default_factory=dict)  # of the car with this car_name
    together: bool = False  # the cars of a scene see each other and may collide
    seed: int = 0  # of the first client's world; the next has the next
    scale: float | None = None  # units of the telemetry in a metre; None: those of the scene, metres on our own tracks

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"--port must be from 0 to 65535, got {self.port}")
        if not 1.0 <= self.rate_hz <= 200.0:
            raise ConfigError(f"--rate must be from 1 to 200 ticks a second, or 0 for one tick a command, got {self.rate_hz:g}")
        if self.scale is not None and not 0.01 <= self.scale <= 1000.0:
            raise ConfigError(f"--scale must be from 0.01 to 1000, got {self.scale:g}")
        if self.seed < 0:
            raise ConfigError(f"--seed must be >= 0, got {self.seed}")
        if self.track is not None:
            make_track(self.track)
        for faults in (self.faults, *self.faults_by_name.values()):
            parse_schedule(faults)
