"""Steering from the cockpit: whoever holds the page's wheel drives, and silence lets go of it."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from donkey_aicc.errors import AiccError

SILENCE_S = 0.5  # pages that are held repeat themselves every tenth of a second


class PageWheel:
    """Donkeycar part, nothing in, nothing out: it looks in every tick whether the page still speaks.

    app: donkeycar's web application, whose angle and throttle are the user's. The page repeats itself while it is held. The drive
    loop does the looking, so that the car also stops when the web server hangs.
    """

    def __init__(self, app: Any, clock: Callable[[], float] = time.monotonic, *, silence_s: float = SILENCE_S) -> None:
        """silence_s: after which the throttle falls to zero; 0: never."""
        self._app, self._clock, self._silence_s = app, clock, silence_s or math.inf
        self._until: float | None = None

    def steer(self, given: Mapping[str, Any]) -> str:
        """{"angle": -1..1, "throttle": -1..1}; nothing is said to the page, ten times a second would be too much."""
        self._app.angle, self._app.throttle = _share(given, "angle"), _share(given, "throttle")
        self.heard()
        return ""

    def heard(self) -> None:
        """Some page has steered just now: donkeycar's own leaves what it said last for good when it is closed."""
        self._until = self._clock() + self._silence_s

    def let_go(self) -> None:
        if self._until is not None:
            self._until = None
            self._app.angle = self._app.throttle = 0.0

    def run(self) -> None:
        until = self._until
        if until is not None and self._clock() > until:
            self.let_go()

    def shutdown(self) -> None:
        self.let_go()


def _share(given: Mapping[str, Any], name: str) -> float:
    value = given.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or abs(value) > 1:
        raise AiccError(f"{name} must be a number from -1 to 1, got {str(value)[:40]!r}")
    return float(value)
