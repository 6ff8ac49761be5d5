"""Faults of users and of other packages, beside ours: the same schedules, buttons, tubs and reports."""

import hashlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from donkey_aicc.errors import ConfigError, one_of
from donkey_aicc.faults.protocols import D_AUG_DRIVEN, FAULTS, SEVERITIES

Make = Callable[[int, np.random.Generator], Callable[..., Any]]
CAMERA, COMMAND = SIDES = ("camera", "command")


class OwnFault(NamedTuple):
    """One severity of a registered fault."""

    make: Make
    side: str
    severity: int


def register_fault(name: str, make: Make, *, side: str = CAMERA, learn: bool = False) -> None:
    """Add a fault of your own: `--inject`, `record --faults`, the cockpit and the report know it from then on.

    Args:
        name: small letters, digits and underscores, such as `rain`; not one that exists already.
        make: called as make(severity, rng) at the start of every episode, severity 1 to 5 and rng a numpy Generator. It
            returns a function: for the camera image -> image, (H, W, 3) uint8 both; for the commands
            (steering, throttle) -> (steering, throttle), each -1 to 1.
        side: `camera` or `command`.
        learn: True lets `calibrate` learn from drives under it. The default is a test fault, which `calibrate` refuses: what
            is measured on it then says how the monitor meets something new.

    Example:
        >>> from donkey_aicc import register_fault
        >>> def half_dead(severity, rng):
        ...     def see(image):
        ...         image = image.copy()
        ...         image[:, : image.shape[1] * severity // 10] = 0
        ...         return image
        ...     return see
        >>> register_fault("half_dead", half_dead)
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise ConfigError(f"a fault's name must be small letters, digits and underscores, 40 at most, got {name!r}")
    if name in FAULTS:
        raise ConfigError(f"a fault's name must be new, got {name!r}, which is there already")
    if not callable(make):
        raise ConfigError(f"make of the fault {name} must be callable, got {make!r}")
    one_of("side", side, SIDES)
    rows = {severity: OwnFault(make, side, severity) for severity in SEVERITIES}
    FAULTS[name] = rows
    if learn:
        D_AUG_DRIVEN[name] = rows


class PlayedOwnFault:
    """A registered fault during one episode: every reset makes it anew from the same random numbers."""

    def __init__(self, name: str, fault: OwnFault, entropy: tuple[int, ...]) -> None:
        number = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")
        self._fault, self._entropy = fault, (*entropy, number)
        self.reset()

    def reset(self) -> None:
        self._do = self._fault.make(self._fault.severity, np.random.default_rng(self._entropy))

    def run(self, *values: Any) -> Any:
        return self._do(*values)
