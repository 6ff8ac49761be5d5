"""What one start of the car hands from one wiring to the next, and what our parts record."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from donkey_aicc import channels
from donkey_aicc.alarm.timing import tick_clock
from donkey_aicc.car.config import AiccConfig


@dataclass
class Assembly:
    """A vehicle on its way into the drive loop. Each wiring adds its parts, its tub channels and what to say at start."""

    V: Any  # donkeycar's Vehicle
    cfg: Any  # donkeycar's settings
    config: AiccConfig  # ours, parsed once
    recorded: dict[str, str] = field(default_factory=dict)  # channel of the tub -> donkeycar's type name
    said: list[str] = field(default_factory=list)  # short statements for the one line at start

    @property
    def simulated(self) -> bool:
        """No real car that could hurt anybody."""
        return self.config.sim or bool(getattr(self.cfg, "DONKEY_GYM", False))

    @property
    def joysticks(self) -> list[Any]:
        """The game controllers among the parts; receivers of a radio control have no buttons."""
        return [entry["part"] for entry in self.V.parts if hasattr(entry["part"], "set_button_down_trigger")]

    @property
    def web_buttons_inject(self) -> bool:
        """In simulators unless switched off, on a real car only if switched on."""
        return self.simulated if self.config.inject_buttons is None else self.config.inject_buttons

    def part(self, fits: Callable[[Any], bool]) -> Any:
        """The first part that fits; None without one."""
        return next((entry["part"] for entry in self.V.parts if fits(entry["part"])), None)

    def part_with(self, name: str) -> Any:
        """The first part that has a method or property of this name."""
        return self.part(lambda part: hasattr(part, name))

    @property
    def in_ticks(self) -> bool:
        """A drive faster than the clock: its time is counted in ticks."""
        return self.config.sim and not self.config.scorer_threaded

    def clock(self) -> Callable[[], float]:
        """Seconds of the drive, for one part that asks once per tick."""
        return tick_clock(self.cfg.DRIVE_LOOP_HZ) if self.in_ticks else time.monotonic

    def tub_channels(self, inputs: Sequence[str], types: Sequence[str]) -> tuple[list[str], list[str]]:
        """The tub's channels and types with ours behind those that are there already."""
        new = [name for name in self.recorded if name not in inputs]
        return [*inputs, *new], [*types, *(self.recorded[name] for name in new)]


SENT_CHANNELS = {channels.STEERING: "float", channels.THROTTLE: "float"}  # as sent to the vehicle
SIM_CHANNELS = {**dict.fromkeys(channels.LOCATION, "float"), channels.LAP: "int", channels.HIT: "boolean"}
INJECTION_CHANNELS = {channels.INJECT_PROTOCOL: "str", channels.INJECT_SEVERITY: "int", channels.INJECT_EPISODE: "int"}
MONITOR_CHANNELS = {
    channels.P_SAFE: "vector",
    channels.P_TTA: "vector",
    channels.P_RESTORED: "vector",
    channels.RESTORED: "float",
    channels.HINDSIGHT: "float",
    channels.RHO: "float",
    channels.DELTA: "float",
    channels.SCORES_AGE_S: "float",
    channels.SCORES_VALID: "boolean",
    channels.CONFIDENCE: "vector",
    channels.CONFIDENCE_MIN: "float",
    channels.STATUS: "str",
    channels.GRADE: "str",
}
ALARM_CHANNELS = {channels.HAZARD: "vector", channels.ALARM: "str", channels.REASON: "str"}
