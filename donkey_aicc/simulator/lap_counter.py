"""Counting laps by sectors, so that cutting across or wobbling on the start line counts nothing."""

_SECTORS = 8


class LapCounter:
    """Feed it the distance along the track; a lap is done when all sectors were passed in order, line to line."""

    def __init__(self, length_m: float):
        self._length_m = length_m
        self.reset(0.0, 0.0)

    def reset(self, s_m: float, time_s: float) -> None:
        """Forget all laps. A car put down in the first sector starts its lap there and then."""
        self.lap_times: tuple[float, ...] = ()
        self._sector = self._sector_of(s_m)
        self._started_s: float | None = time_s if self._sector == 0 else None

    @property
    def laps(self) -> int:
        return len(self.lap_times)

    def update(self, s_m: float, time_s: float) -> None:
        """Note the car at s_m at time_s."""
        sector = self._sector_of(s_m)
        if sector != (self._sector + 1) % _SECTORS:
            return
        self._sector = sector
        if sector == 0:
            if self._started_s is not None:
                self.lap_times = (*self.lap_times, time_s - self._started_s)
            self._started_s = time_s

    def _sector_of(self, s_m: float) -> int:
        return min(int(s_m / self._length_m * _SECTORS), _SECTORS - 1)
