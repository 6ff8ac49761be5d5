"""DriveStopper: ends the drive between two loops, so that the last record is whole."""

import logging
from typing import Any

logger = logging.getLogger(__name__)


class DriveStopper:
    """Last part of the vehicle: stops it after the wanted number of laps, or at a wall."""

    def __init__(self, vehicle: Any, laps: int | None = None, stop_at_wall: bool = False) -> None:
        self._vehicle = vehicle
        self._laps = laps
        self._stop_at_wall = stop_at_wall

    def run(self, lap: int | None, hit: bool | None) -> None:
        """lap: number of the lap being driven, from 1; both are None on a car that cannot know."""
        enough = self._laps is not None and lap is not None and lap > self._laps
        crashed = self._stop_at_wall and bool(hit)
        if crashed:
            logger.warning("the car hit the wall; the drive ends, because nobody puts it back")
        if enough or crashed:
            self._vehicle.on = False
