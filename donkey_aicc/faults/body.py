"""What a fault does to the car itself, not to its pictures or commands: only a simulated car can be broken like this."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True)
class Body:
    """The state of a car and its camera; the defaults are a sound car."""

    grip: float = 1.0  # factor on what the tyres hold: dust, wet floor
    steering_gain: float = 1.0  # factor on the angle of the wheels: a bent linkage
    drag: float = 1.0  # factor on the resistance: carpet, a tired battery
    pull_per_m: float = 0.0  # curvature that the car takes by itself, > 0 to the right: one wheel drags
    pitch_deg: float = 0.0  # the camera looks so much further down: a loose mount

    def with_faults_of(self, other: "Body") -> "Body":
        """Both at once."""
        return Body(
            self.grip * other.grip,
            self.steering_gain * other.steering_gain,
            self.drag * other.drag,
            self.pull_per_m + other.pull_per_m,
            self.pitch_deg + other.pitch_deg,
        )


SOUND = Body()


def all_at_once(bodies: Iterable[Body | None]) -> Body:
    """What several faults make of a car; None leaves it as it is."""
    return reduce(Body.with_faults_of, (body for body in bodies if body is not None), SOUND)
