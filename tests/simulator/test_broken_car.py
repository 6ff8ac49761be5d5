"""Faults of the car itself act in the vehicle and in the camera, and end without a trace."""

import numpy as np
import pytest

from donkey_aicc.faults.protocols import SOUND, Body
from donkey_aicc.simulator.world import World


def driven(body: Body, steering: float = 0.4, ticks: int = 40) -> World:
    world = World("loop", seed=1)
    world.suffer(body)
    for _ in range(ticks):
        world.vehicle.step(steering, 0.5, 0.05)
    return world


@pytest.mark.parametrize(
    ("body", "figure", "less"),
    [
        (Body(grip=0.2), "yaw_rate", True),
        (Body(steering_gain=0.5), "yaw_rate", True),
        (Body(drag=2.0), "speed", True),
        (Body(pull_per_m=0.5), "yaw_rate", False),
        (Body(pull_per_m=-0.5), "yaw_rate", True),
    ],
)
def test_each_fault_does_what_it_says(body: Body, figure: str, less: bool) -> None:
    sound, broken = (abs(getattr(driven(one).vehicle, figure)) for one in (SOUND, body))
    assert (broken < 0.95 * sound) if less else (broken > 1.05 * sound)


def test_a_loose_camera_sees_further_down_and_a_sound_one_again_what_it_saw() -> None:
    frames = {}
    for name, bodies in {"sound": [SOUND], "loose": [Body(pitch_deg=4.0)], "mended": [Body(pitch_deg=4.0), SOUND]}.items():
        world = World("loop", seed=2)
        for body in bodies:
            world.suffer(body)
        frames[name] = world.step(0.0, 0.3).image
    assert np.array_equal(frames["sound"], frames["mended"])
    assert np.abs(frames["sound"].astype(int) - frames["loose"]).mean() > 3.0


def test_a_new_drive_has_a_sound_car() -> None:
    world = driven(Body(grip=0.2, pitch_deg=3.0))
    world.reset(seed=1)
    assert world.vehicle.body == SOUND and world.camera.tilt_deg == 0.0
