import math
import time

import donkeycar as dk
import numpy as np
import pytest

from donkey_aicc import channels
from donkey_aicc.simulator.camera import CameraConfig
from donkey_aicc.simulator.drivers import Expert
from donkey_aicc.simulator.driving import SimulatorPart
from donkey_aicc.simulator.world import World

SMALL = CameraConfig(width=32, height=24)
OUTPUTS = [channels.IMAGE, *channels.LOCATION]


class ExpertPart:
    """Steers the simulator inside donkeycar's loop."""

    def __init__(self, simulator: SimulatorPart):
        self.simulator = simulator
        self.expert = Expert(simulator.world.track)

    def run(self):
        seen = self.simulator.observation
        return self.expert.run(seen.x, seen.y, seen.yaw, seen.speed)


class Recorder:
    def __init__(self):
        self.rows = []

    def run(self, *values):
        self.rows.append(values)


def drive_with_donkeycar(loops: int, seed: int = 0) -> tuple[SimulatorPart, list]:
    part, recorder = SimulatorPart(World("loop", seed=seed)), Recorder()
    car = dk.vehicle.Vehicle()
    car.add(part, inputs=["steering", "throttle"], outputs=OUTPUTS)
    car.add(ExpertPart(part), outputs=["steering", "throttle"])
    car.add(recorder, inputs=OUTPUTS)
    car.start(rate_hz=100_000, max_loop_count=loops)
    return part, recorder.rows


def test_drives_in_donkeycars_own_loop():
    part, rows = drive_with_donkeycar(400)
    assert len(rows) == 400 and part.laps == 1 and part.departures == 0
    image, pos_x, pos_y, pos_z, speed, cte = rows[-1]
    assert image.shape == (120, 160, 3) and image.dtype == np.uint8
    seen = part.observation
    assert (pos_x, pos_y, pos_z) == (seen.x, 0.0, seen.y)
    assert (speed, cte) == (seen.speed, seen.cte_m)
    assert all(type(value) is float for value in rows[-1][1:])  # the tub stores floats, not numpy scalars


def test_a_drive_through_the_loop_repeats_exactly():
    one, other = (drive_with_donkeycar(50, seed=9)[1] for _ in range(2))
    assert all(np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    "command", [(), (None, None), (math.nan, math.inf), ("left", object()), (np.float32(0.1), np.array(0.5))]
)
def test_run_takes_anything(command):
    part = SimulatorPart(World("loop", camera=SMALL))
    for _ in range(3):
        assert len(part.run(*command)) == 6
    part.shutdown()


def crash(part: SimulatorPart) -> None:
    for _ in range(400):
        part.run(0.0, 0.8)
        if part.observation.hit != "none":
            return


def test_without_put_back_the_car_stays_at_the_wall():
    part = SimulatorPart(World("loop", camera=SMALL))
    crash(part)
    x = part.observation.x
    for _ in range(10):
        part.run(0.0, 0.8)
    assert part.observation.hit == "wall" and part.observation.x == x and part.departures == 1


def test_put_back_sets_the_car_on_the_lane_and_counts():
    part = SimulatorPart(World("loop", camera=SMALL), put_back=True)
    crash(part)
    assert part.observation.hit == "wall"  # the hit itself is seen for one tick
    part.run(0.0, 0.0)
    assert part.observation.hit == "none" and abs(part.observation.cte_m) < 0.05
    assert part.departures == 1
    crash(part)
    assert part.departures == 2


def test_realtime_waits_for_the_clock_but_never_twice(monkeypatch):
    clock, slept = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    part = SimulatorPart(World("loop", rate_hz=20.0, camera=SMALL), realtime=True)
    part.run(0.0, 0.0)
    part.run(0.0, 0.0)  # at once: waits for the whole tick
    clock[0] += 0.03
    part.run(0.0, 0.0)  # the loop took 30 ms: waits for the rest
    clock[0] += 0.05
    part.run(0.0, 0.0)  # the loop has slept already
    clock[0] += 3.0
    part.run(0.0, 0.0)  # a long pause is not caught up
    part.run(0.0, 0.0)
    assert slept == pytest.approx([0.05, 0.02, 0.05])
