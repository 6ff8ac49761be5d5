"""Driving from the cockpit: whoever holds the page's wheel drives, silence lets go of it, anybody who looks can stop the car."""

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


class PageHalt:
    """Donkeycar part before the drivetrain: (throttle, mode, the user's throttle) -> throttle; 0 after the page stopped the car.

    It lets go after a second in which a person has the wheel and the foot off: what comes after that is meant. Whoever holds a
    wheel or a stick in that moment lets it rest first.
    """

    LEAST_S = 1.0
    REST = 0.05  # of the throttle: a stick never rests at zero

    def __init__(self, app: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._clock, self._until = app, clock, -math.inf
        self.halted = False

    def halt(self) -> None:
        self.halted, self._until = True, self._clock() + self.LEAST_S
        self._app.mode = self._app.mode_latch = "user"
        self._app.angle = self._app.throttle = 0.0

    def run(self, throttle: Any, mode: Any, by_user: Any) -> Any:
        if not self.halted:
            return throttle
        rests = mode == "user" and isinstance(by_user, int | float) and abs(by_user) <= self.REST
        self.halted = not (rests and self._clock() >= self._until)
        return 0.0

    def shutdown(self) -> None:
        self.halted = False


def _share(given: Mapping[str, Any], name: str) -> float:
    value = given.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or abs(value) > 1:
        raise AiccError(f"{name} must be a number from -1 to 1, got {str(value)[:40]!r}")
    return float(value)
