"""From a fault's name to what plays it, and what to inject when, as a person writes it: `dark:3`, `bias:2@10s-25s,blur:4@lap2`.

A fault asked for while the user drives waits for the pilot, but not for ever: minutes later nobody expects it any more.
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.fault_effects import (
    Bias,
    Blur,
    CommandFault,
    CorruptedFrames,
    Dark,
    LateCommands,
    LateFrames,
    SensorFault,
    SpeedMismatch,
)
from donkey_aicc.faults.field_faults import (
    LostFrames,
    LostFramesParameters,
    Occlusion,
    OcclusionParameters,
    OverExposure,
    OverExposureParameters,
)
from donkey_aicc.faults.own_faults import CAMERA, OwnFault, PlayedOwnFault
from donkey_aicc.faults.protocols import (
    FAULTS,
    BiasParameters,
    BlurParameters,
    Body,
    CorruptionParameters,
    DarkParameters,
    LatencyParameters,
    SpeedMismatchParameters,
    parameters,
)

logger = logging.getLogger(__name__)


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
    if isinstance(row, OwnFault):
        played = PlayedOwnFault(protocol, row, (seed, episode))
        return Fault(protocol, severity, *((played, None) if row.side == CAMERA else (None, played)))
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
    elif isinstance(row, LostFramesParameters):
        sensor = LostFrames(row, rate_hz, entropy)
    elif isinstance(row, OcclusionParameters):
        sensor = Occlusion(row, entropy)
    elif isinstance(row, OverExposureParameters):
        sensor = OverExposure(row)
    return Fault(protocol, severity, sensor, command, _to_one_side(row, entropy) if isinstance(row, Body) else None)


def _to_one_side(body: Body, entropy: tuple[int, ...]) -> Body:
    """A wheel drags on the left or on the right, drawn per episode."""
    side = 1.0 if np.random.default_rng(entropy).random() < 0.5 else -1.0
    return replace(body, pull_per_m=side * body.pull_per_m)


FORM = (
    "FAULT:SEVERITY[@WHEN], separated by commas; FAULT is one of {}; SEVERITY 1-5; "
    "WHEN is seconds (10s-25s or, from then on, 10s), laps (lap2 or lap2-4) from lap1 or ticks (100-300ticks)"
)

_WHEN = {
    "s": re.compile(r"^(\d+(?:\.\d+)?)s(?:-(?:(\d+(?:\.\d+)?)s)?)?$"),
    "lap": re.compile(r"^lap(\d+)(?:-(?:lap)?(\d+))?$"),
    "tick": re.compile(r"^(\d+)-(\d+)? ?ticks$"),
}


@dataclass(frozen=True)
class Episode:
    """Play a protocol while start <= now < stop; `unit` says whether that is seconds ('s'), laps ('lap') or ticks ('tick')."""

    protocol: str
    severity: int
    start: float = 0.0
    stop: float = float("inf")
    unit: str = "s"

    def is_due(self, seconds: float, tick: int, lap: float | None) -> bool:
        """Whether the episode is on now. Laps count from 1; a lap episode waits for ever on a car that counts no laps."""
        now = {"s": seconds, "tick": float(tick), "lap": lap}[self.unit]
        return now is not None and self.start <= now < self.stop

    def hides(self, other: "Episode") -> bool:
        """Whether it is on whenever the other is: a later entry of one fault wins."""
        always = self.start == 0.0 and self.stop == float("inf")
        within = self.unit == other.unit and self.start <= other.start and other.stop <= self.stop
        return self.protocol == other.protocol and (always or within)

    def __str__(self) -> str:
        head = f"{self.protocol}:{self.severity}"
        if self.unit == "lap":
            last = int(self.stop) - 1
            return f"{head}@lap{self.start:g}" + (f"-{last}" if last > self.start else "")
        if self.start == 0.0 and self.stop == float("inf"):
            return head
        until = self.stop < float("inf")
        if self.unit == "tick":
            return f"{head}@{self.start:g}-{f'{self.stop:g}' if until else ''}ticks"
        return f"{head}@{self.start:g}s-" + (f"{self.stop:g}s" if until else "")


def parse_schedule(text: str | None) -> tuple[Episode, ...]:
    """The episodes of a schedule; None and the word none mean none."""
    if text is None or text.strip() == "none":
        return ()
    found = tuple(_parse_piece(piece.strip()) for piece in text.split(","))
    for number, first in enumerate(found):
        for later in found[number + 1 :]:
            if later.hides(first):
                raise ConfigError(f"injection {text!r}: {first} would never show, because {later} hides it")
    return found


def _parse_piece(piece: str) -> Episode:
    what, at, when = piece.partition("@")
    protocol, colon, severity = (part.strip() for part in what.partition(":"))
    protocol = re.sub(r"[\s-]+", "_", protocol.lower())  # as the cockpit writes it: salt and pepper
    if not colon or not severity.isdecimal():
        raise _wrong(piece, "it must start with a fault and a severity, such as dark:3")
    try:
        parameters(protocol, int(severity))
    except ConfigError as error:
        raise _wrong(piece, str(error)) from None
    if not at:
        return Episode(protocol, int(severity))
    unit, start, stop = _parse_when(piece, when.strip())
    return Episode(protocol, int(severity), start, stop, unit)


def _parse_when(piece: str, when: str) -> tuple[str, float, float]:
    for unit, pattern in _WHEN.items():
        found = pattern.match(when)
        if found is None:
            continue
        start, stop = float(found[1]), float(found[2]) if found[2] else float("inf")
        if unit == "lap":  # both laps belong to the episode
            if start < 1:
                raise _wrong(piece, "the first lap is lap1")
            stop = (stop if found[2] else start) + 1
        if stop <= start:
            raise _wrong(piece, f"it must end after it starts, got {when}")
        return unit, start, stop
    bare = re.fullmatch(r"(\d+)-(\d+)?", when)
    ask = (
        f"; write {bare[1]}s-{bare[2] + 's' if bare[2] else ''} for seconds, {when}ticks for ticks of the drive loop"
        if bare
        else ""
    )
    raise _wrong(piece, f"{when!r} is no time{ask}")


def _wrong(piece: str, reason: str) -> ConfigError:
    return ConfigError(f"injection {piece!r}: {reason}. The form is {FORM.format(', '.join(FAULTS))}")


WAIT_S = 10.0


class WaitingFaults:
    """Says once that faults wait, and when their time is over."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: float | None = None

    def lapsed(self, names: Iterable[str], permitted: bool) -> bool:
        """Call it every tick with what is switched on by hand: whether that has waited too long."""
        waiting = "+".join(names)
        if permitted or not waiting:
            self._since = None
        elif self._since is None:
            self._since = self._clock()
            logger.warning("%s waits for pilot mode, %g s at most", waiting, WAIT_S)
        elif self._clock() - self._since > WAIT_S:
            self._since = None
            logger.warning("%s was not begun: no pilot mode within %g s", waiting, WAIT_S)
            return True
        return False
