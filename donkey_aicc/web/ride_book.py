"""RideBook: lap times and departures of a drive, counted whether somebody looks or not."""

from typing import Any

import numpy as np


class RideBook:
    """Tick by tick: which lap, how far off the centre, marked or not."""

    def __init__(self, half_width: float | None = None) -> None:
        """half_width: |cte| at which the car has left its lane; None: only marks are departures."""
        self._half_width = half_width
        self._lap: int | None = None
        self._began_s = 0.0
        self._whole = False  # the lap is timed from its line, and nobody put the car back
        self._out = False
        self.last_lap_s: float | None = None
        self.best_lap_s: float | None = None
        self.lap_s: float | None = None
        self.departures = 0

    def note(self, time_s: float, lap: Any, cte: Any, hit: Any, mark: Any) -> None:
        """Never raises: what is no number is not known."""
        if isinstance(lap, int | np.integer) and lap != self._lap:
            if self._whole and self._lap is not None and lap == self._lap + 1:
                self.last_lap_s = time_s - self._began_s
                self.best_lap_s = min(self.last_lap_s, self.best_lap_s or self.last_lap_s)
            self._lap, self._began_s, self._whole = int(lap), time_s, True
        if hit:
            self._whole = False
        self.lap_s = None if self._lap is None else time_s - self._began_s
        known = isinstance(cte, float | int | np.floating) and self._half_width is not None
        off = known and abs(float(cte)) > float(self._half_width or 0.0)
        out = off or mark is True
        self.departures += out and not self._out
        self._out = out

    def shown(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in ("lap_s", "last_lap_s", "best_lap_s", "departures")}
