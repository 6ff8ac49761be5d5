"""A fault asked for while the user drives waits for the pilot, but not for ever: minutes later nobody expects it any more."""

import logging
from collections.abc import Callable, Iterable

WAIT_S = 10.0

logger = logging.getLogger(__name__)


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
