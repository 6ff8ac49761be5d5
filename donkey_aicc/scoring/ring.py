"""The last n values of a stream, always as one ordered, contiguous window."""

import numpy as np


class Ring:
    """Holds the last `capacity` values of each lane.

    Every value is stored twice, `capacity` apart, so that the window is a plain slice in order of time. Sums are taken
    from the window and never kept running, so nothing drifts however long the car drives.
    """

    def __init__(self, lanes: int, capacity: int, shape: tuple[int, ...] = (), dtype: type = np.float64) -> None:
        self._values: np.ndarray = np.zeros((lanes, 2 * capacity, *shape), dtype=dtype)
        self._capacity = capacity
        self._seen = 0

    def append(self, values: np.ndarray, unseen: int = 0) -> None:
        """values: (lanes, *shape), the newest of each lane. `unseen` values before it are drawn as a line from the last one."""
        if unseen:
            last = self.window()[:, -1] if self._seen else values
            for share in np.arange(1, unseen + 1) / (unseen + 1):
                self._put(last + share * (values - last))
        self._put(values)

    def _put(self, values: np.ndarray) -> None:
        slot = self._seen % self._capacity
        self._values[:, slot] = values
        self._values[:, slot + self._capacity] = values
        self._seen += 1

    def window(self) -> np.ndarray:
        """(lanes, n, *shape) with n = min(seen, capacity), oldest first; a view that the next append may change."""
        if self._seen < self._capacity:
            return self._values[:, : self._seen]
        start = self._seen % self._capacity
        return self._values[:, start : start + self._capacity]

    def keep(self, lanes: np.ndarray) -> None:
        """Drop all lanes but these."""
        self._values = self._values[lanes]
