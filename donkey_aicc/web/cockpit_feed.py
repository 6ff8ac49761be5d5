"""CockpitFeed: the drive loop's side of the cockpit. It only keeps what the tick held; all work is done where it is looked at."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from donkey_aicc import channels

# Key in the page's messages -> donkeycar channel. Channels that a car does not have stay None and are not shown.
SHOWN = {
    "image": channels.IMAGE,
    "mode": channels.MODE,
    "recording": "recording",
    "records": "tub/num_records",
    "steering": channels.STEERING,
    "throttle": channels.THROTTLE,
    "p_safe": channels.P_SAFE,
    "p_tta": channels.P_TTA,
    "confidence": channels.CONFIDENCE,
    "rho": channels.RHO,
    "delta": channels.DELTA,
    "scores_age_s": channels.SCORES_AGE_S,
    "scores_valid": channels.SCORES_VALID,
    "status": channels.STATUS,
    "grade": "aicc/grade",
    "hazard": "aicc/hazard",
    "alarm": "aicc/alarm",
    "reason": "aicc/reason",
    "action": channels.ACTION,
    "inject_protocol": channels.INJECT_PROTOCOL,
    "inject_severity": channels.INJECT_SEVERITY,
    "mark": channels.UNSAFE_MARK,
    "lap": channels.LAP,
    "hit": channels.HIT,
    "cte": channels.CTE,
    "x": channels.POS_X,
    "y": channels.POS_Z,
    "speed": channels.SPEED,
}


@dataclass(frozen=True)
class Tick:
    """What the channels held in one tick; `values` in the order of SHOWN."""

    number: int
    time_s: float
    values: Sequence[Any]

    def named(self) -> dict[str, Any]:
        return dict(zip(SHOWN, self.values, strict=False))


class CockpitFeed:
    """Donkeycar part: all shown channels in, nothing out."""

    inputs = tuple(SHOWN.values())

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._number = 0
        self.latest: Tick | None = None

    def run(self, *values: Any) -> None:
        """Never raises, copies nothing."""
        self._number += 1
        self.latest = Tick(self._number, self._clock(), values)

    def age_s(self) -> float | None:
        """Seconds since the last tick; None before the first."""
        return None if self.latest is None else self._clock() - self.latest.time_s

    def shutdown(self) -> None:
        """Nothing to close."""
