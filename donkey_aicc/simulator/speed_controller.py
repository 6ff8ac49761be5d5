"""What a car's speed controller makes of the throttle: forward, reverse, or a brake that only slows.

Hobby controllers take a negative throttle as the brake while the car drives forward. When they let it reverse is their kind.
"""

from donkey_aicc.limits import DIRECT, NEUTRAL_FIRST

DEADBAND = 0.02  # of the throttle: neutral
STANDING_MPS = 0.05


class SpeedController:
    """(throttle, speed) -> (motor, brake), tick by tick; motor -1 to 1, brake 0 to 1."""

    def __init__(self, kind: str = DIRECT) -> None:
        self.kind = kind
        self.reset()

    def reset(self) -> None:
        """Switched on: it takes the first push back as a brake."""
        self._may_reverse = self._pushed = False

    def run(self, throttle: float, speed_mps: float) -> tuple[float, float]:
        if self.kind == DIRECT:
            return throttle, 0.0
        if throttle > DEADBAND:
            self.reset()
        elif throttle >= -DEADBAND:  # neutral: a push that was let go counts
            self._may_reverse = self._may_reverse or self._pushed or self.kind == NEUTRAL_FIRST
        else:
            self._pushed = True
            stands = self.kind == NEUTRAL_FIRST or speed_mps < STANDING_MPS
            return (throttle, 0.0) if self._may_reverse and stands else (0.0, -throttle)
        return max(throttle, 0.0), 0.0
