"""DriveStopper: ends the drive between two loops, so that the last record is whole."""

import logging
import signal
from types import FrameType
from typing import Any

logger = logging.getLogger(__name__)


class DriveStopper:
    """Last part of the vehicle: stops it on Ctrl-C, on SIGTERM, after the wanted number of laps, or at a wall.

    donkeycar's own way, a KeyboardInterrupt wherever the loop happens to be, may cut a record in half.
    """

    def __init__(self, vehicle: Any, laps: int | None = None, stop_at_wall: bool = False) -> None:
        self._vehicle = vehicle
        self._laps = laps
        self._stop_at_wall = stop_at_wall
        self.requested = False
        self._former: dict[int, Any] = {}

    def listen(self) -> None:
        """Take over Ctrl-C and SIGTERM (main thread only). A second Ctrl-C interrupts at once, should a part hang."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._former[number] = signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def run(self, lap: int | None, hit: bool | None) -> None:
        """lap: number of the lap being driven, from 1; both are None on a car that cannot know."""
        enough = self._laps is not None and lap is not None and lap > self._laps
        crashed = self._stop_at_wall and bool(hit)
        if crashed:
            logger.warning("the car hit the wall; the drive ends, because nobody puts it back")
        if self.requested or enough or crashed:
            self._vehicle.on = False

    def shutdown(self) -> None:
        """Give the signals back."""
        while self._former:
            signal.signal(*self._former.popitem())
