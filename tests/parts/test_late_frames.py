"""One repeated or late frame is nothing; from a fifth of a second on it counts: the shipped monitor in the loop of the car."""

import numpy as np
import pytest

from donkey_aicc import channels
from donkey_aicc.alarm.health import OK, Glance, MonitorHealth
from donkey_aicc.car.monitor_loop import MonitorLoop
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.drivers import nominal_driver
from donkey_aicc.simulator.world import World


def test_health_says_nothing_about_a_picture_that_comes_twice():
    health, new_s, said = MonitorHealth(), 0.0, []
    for tick in range(200):
        now = tick * 0.05
        new_s = new_s if tick % 15 == 14 else now  # real cameras repeat one in 150; this one in 15
        said.append(health.step(Glance(now, now, new_s, new_s, now, 0.4)))
    assert set(said[20:]) == {OK}


@pytest.fixture(scope="module")
def lap():
    """Pictures and commands of a nominal drive."""
    world = World("loop", seed=60)
    driver, frames = nominal_driver(world.track, models_dir() / "pilot", 60), []
    seen = world.observe()
    for _ in range(260):
        command = driver.run(seen.image, seen)
        frames.append((seen.image, command))
        seen = world.step(*command)
    return frames


def levels(frames, repeated):
    """Alarm by tick when the camera shows the picture before again in these ticks."""
    loop, told, shown = MonitorLoop("reference", grade="light"), [], frames[0][0]
    for tick, (image, command) in enumerate(frames):
        shown = shown if tick in repeated else image
        told.append(loop.run(shown, *command)[channels.ALARM])
    return np.array(told)


@pytest.mark.slow  # two drives of thirteen seconds through the nets
def test_single_repeated_frames_raise_no_alarm_and_a_standing_picture_does(lap):
    assert set(levels(lap, {130, 145, 160, 175, 190, 191})) == {"none"}
    assert set(levels(lap, set(range(200, 260)))[200:]) >= {"none", "danger"}
