"""FreshLaps: records so many nominal laps for the alarm's thresholds, says how far it is, and ends the recording."""

from typing import Any

from donkey_aicc.alarm.pieces import Piece

ROLLING = 0.02  # throttle from which on the car drives


class FreshLaps:
    """Donkeycar part before the tub: (recording, throttle) -> recording. Counts recorded frames in which the car drives."""

    def __init__(self, laps: int, piece: Piece, command: str) -> None:
        """command: what to do with the finished recording."""
        self._laps, self._frames, self._command = laps, piece.frames, command
        self._driven = self._told = 0

    def run(self, recording: Any, throttle: Any) -> bool:
        """Never raises."""
        if self._told >= self._laps:
            return False
        rolls = isinstance(throttle, int | float) and throttle > ROLLING
        self._driven += bool(recording) and rolls
        if self._driven >= (self._told + 1) * self._frames:
            self._told += 1
            if self._told < self._laps:
                print(f"fresh laps for the alarm: {self._told} of {self._laps}", flush=True)
            else:
                print(f"{self._laps} fresh laps are recorded, and the recording has ended. Now: {self._command}", flush=True)
        return bool(recording)

    def shutdown(self) -> None:
        if self._told < self._laps:
            print(f"fresh laps for the alarm: only {self._told} of {self._laps} were recorded", flush=True)
