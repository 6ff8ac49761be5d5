"""SafetyGovernor: less confidence, less throttle, while the pilot drives."""

from typing import Any

from donkey_aicc.errors import ConfigError
from donkey_aicc.limits import drive_command

USER_MODES = (None, "user", "local_angle")  # who has the throttle: in local_angle the pilot only steers

OFF, FULL, SLOWED, STOPPED = "off", "full", "slowed", "stopped"


class SafetyGovernor:
    """Donkeycar part: (confidence, throttle, mode) -> (throttle, action).

    The smallest confidence over the horizons up to `horizon` decides: full throttle from `full_at` upwards, none at
    `stop_at` and below, in between a straight line. Only forward throttle is reduced, so braking always works. In modes in
    which the user has the throttle it does nothing ('off').
    """

    def __init__(
        self, stop_at: float = 0.2, full_at: float = 0.6, horizons: tuple[int, ...] = (), horizon: int | None = None
    ) -> None:
        if not 0.0 <= stop_at < full_at <= 1.0:
            raise ConfigError(f"the governor needs 0 <= stop_at < full_at <= 1, got stop_at {stop_at} and full_at {full_at}")
        if horizon is not None and horizon not in horizons:
            raise ConfigError(f"governor horizon must be one of {', '.join(map(str, horizons)) or 'none'}; got {horizon}")
        self.stop_at = stop_at
        self.full_at = full_at
        self._count = None if horizon is None else horizons.index(horizon) + 1

    def run(self, confidence: Any, throttle: Any, mode: str | None = None) -> tuple[float, str]:
        """Never raises; a confidence that is missing or no number counts as 0."""
        meant = drive_command(throttle)
        if mode in USER_MODES:
            return meant, OFF
        share = self._share(_least(confidence, self._count))
        if meant <= 0.0 or share >= 1.0:
            return meant, FULL
        return meant * share, SLOWED if share > 0.0 else STOPPED

    def _share(self, confidence: float) -> float:
        return min(max((confidence - self.stop_at) / (self.full_at - self.stop_at), 0.0), 1.0)

    def shutdown(self) -> None:
        """Nothing to close."""


def _least(confidence: Any, count: int | None) -> float:
    values = list(confidence)[:count] if isinstance(confidence, list | tuple) else [confidence]
    numbers = [value for value in values if _is_number(value)]
    return min(numbers) if numbers and len(numbers) == len(values) else 0.0


def _is_number(value: Any) -> bool:
    """10**400 is a whole number that no float can hold: asked for its finiteness it raises."""
    return isinstance(value, int | float) and -1e300 < value < 1e300
