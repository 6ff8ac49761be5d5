"""The simulator as a donkeycar part: camera, drivetrain and location in one."""

import logging
import time

import numpy as np

from donkey_aicc.simulator.world import NO_HIT, Observation, World

logger = logging.getLogger(__name__)

Channels = tuple[np.ndarray, float, float, float, float, float]


class SimulatorPart:
    """One `run` is one tick of the world. Not threaded, so that a drive is the same on every machine.

    Inputs: steering, throttle. Outputs: image, pos_x, pos_y, pos_z, speed, cte, on the Unity simulator's axes: pos_x
    and pos_z span the floor, pos_y is height.
    """

    def __init__(self, world: World, realtime: bool = False, put_back: bool = False):
        """realtime: never run faster than the world's rate. put_back: after a hit, set the car on the lane again."""
        self.world = world
        self.realtime = realtime
        self.put_back = put_back
        self.departures = 0
        self.observation: Observation = world.observe()
        self._next_tick: float | None = None

    @property
    def laps(self) -> int:
        """Laps completed."""
        return self.observation.lap

    @property
    def lap_times(self) -> tuple[float, ...]:
        """Seconds of simulated time per completed lap."""
        return self.observation.lap_times

    def run(self, steering: float | None = None, throttle: float | None = None) -> Channels:
        """Drive one tick; commands that are no numbers count as 0."""
        if self.realtime:
            self._wait_for_tick()
        if self.put_back and self.world.hit != NO_HIT:
            self.world.put_back()
        was_free = self.world.hit == NO_HIT
        seen = self.world.step(_number(steering), _number(throttle))
        if was_free and seen.hit != NO_HIT:
            self.departures += 1
            logger.warning("The car hit the %s at s = %.2f m after %.1f s", seen.hit, seen.s_m, seen.time_s)
        self.observation = seen
        return seen.image, seen.x, 0.0, seen.y, seen.speed, seen.cte_m

    def shutdown(self) -> None:
        """Say how the drive went."""
        times = ", ".join(f"{lap:.2f} s" for lap in self.lap_times) or "none"
        logger.info("Simulator: %d laps (%s), %d departures", self.laps, times, self.departures)

    def _wait_for_tick(self) -> None:
        """Wait only for what is left of the tick: donkeycar's loop may have slept already."""
        period_s = 1.0 / self.world.rate_hz
        now = time.monotonic()
        if self._next_tick is not None and now < self._next_tick:
            time.sleep(self._next_tick - now)
            self._next_tick += period_s
        else:  # first tick, or late: time lost is not caught up, or the car would leap
            self._next_tick = now + period_s


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
