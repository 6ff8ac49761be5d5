"""Today's nominal: how far this day's light, lens and tyres have moved each sign from where the calibration found it.

It moves in two ways, both bounded by `Sign.day`. By itself over minutes and only while nothing stands out, so that daylight is
followed and a fault, which comes within seconds, is not: what stands out is never learnt. And at once, when the driver says that
the last lap was normal. The code is the same on the car, in a replay and in a table.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from donkey_aicc.alarm.signs import PICTURE, SIGN_NAMES, SIGNS
from donkey_aicc.alarm.timing import FOLLOW_S

if TYPE_CHECKING:
    from donkey_aicc.alarm.sign_scales import SignScales

CALM = 1.0  # of the nominal extreme: what goes beyond it is not learnt
LEAST_OF_A_LAP = 0.5  # must be known before a lap can be taken as today's
DAY = np.array([sign.day for sign in SIGNS])
TWO_SIDED = np.array([sign.two_sided for sign in SIGNS])


def bounded(shift: np.ndarray) -> np.ndarray:
    """A sign that only counts upwards is never made more sensitive than it was calibrated."""
    return np.clip(shift, np.where(TWO_SIDED, -DAY, 0.0), DAY)


@dataclass(frozen=True)
class Recentred:
    """What one normal lap has moved, and what it would have moved further than a day may: by name, in the unit of the sign."""

    moved: dict[str, float]
    beyond: dict[str, float]

    def statement(self) -> str:
        told = ", ".join(f"{name} {value:+.2f}" for name, value in self.moved.items()) or "nothing had to move"
        if not self.beyond:
            return f"today's nominal is set from the last lap: {told}"
        far = ", ".join(self.beyond)
        return f"today's nominal is set from the last lap: {told}; {far}: further than another day should be, calibrate --add it"


class Today:
    """The shift (L, S) of L lanes; it outlasts gaps in a drive."""

    def __init__(self, scales: "SignScales", lanes: int = 1, rate_hz: float = 20.0) -> None:
        self._scales, self._follow = scales, FOLLOW_S * rate_hz
        self.shift = np.zeros((lanes, len(SIGNS)))

    def follow(self, away: np.ndarray, strangeness: np.ndarray) -> None:
        """away: (L, S) of this frame from the middle, with the shift as it was; strangeness: (L,) of it."""
        step = np.clip(away, -self._scales.below, self._scales.above) / self._follow
        step = np.where(np.isfinite(step) & (strangeness <= CALM)[:, None], step, 0.0)
        self.shift = bounded(self.shift + step)

    def recentre(self, lap: np.ndarray) -> Recentred:
        """lap: (n, S) signs of the one lane's last lap, which the driver calls normal."""
        wanted = self._median(lap, np.zeros(len(SIGNS)))
        wanted[PICTURE] = self._median(lap, bounded(wanted) * (np.arange(len(SIGNS)) < PICTURE))[PICTURE]
        unit = np.where(np.isfinite(self._scales.above), np.maximum(self._scales.above, self._scales.below), np.inf)
        shift = bounded(wanted)
        self.tell(shift)
        far = (DAY > 0.0) & (np.abs(wanted - shift) > unit) & (TWO_SIDED | (wanted > 0.0))
        told = {SIGN_NAMES[number]: float(shift[number]) for number in np.flatnonzero(np.abs(shift) > 0.1 * unit)}
        return Recentred(told, {SIGN_NAMES[number]: float(wanted[number]) for number in np.flatnonzero(far)})

    def _median(self, lap: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """(S,) of a lap, from the nominal middle; 0 where it is not known."""
        away = self._scales.centred(lap, shift[None])
        known = np.isfinite(away).mean(axis=0) >= LEAST_OF_A_LAP
        return np.array([np.nanmedian(column) if usable else 0.0 for column, usable in zip(away.T, known, strict=True)])

    def tell(self, shift: np.ndarray) -> None:
        """Go on from a shift (S,) that was set earlier today."""
        self.shift = np.tile(bounded(np.where(np.isfinite(shift), shift, 0.0)), (len(self.shift), 1))
