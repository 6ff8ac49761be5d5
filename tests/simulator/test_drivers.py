import numpy as np
import pytest

from donkey_aicc.simulator.camera import CameraConfig
from donkey_aicc.simulator.drivers import Expert
from donkey_aicc.simulator.tracks import TRACK_NAMES
from donkey_aicc.simulator.world import World

SMALL = CameraConfig(width=16, height=16)  # the expert does not look


def drive(world: World, expert: Expert, laps: int, max_steps: int = 3000):
    seen, drive = world.observe(), []
    while seen.lap < laps and len(drive) < max_steps:
        seen = world.step(*expert.run(seen.x, seen.y, seen.yaw, seen.speed))
        drive.append(seen)
    return drive


@pytest.mark.parametrize("name", [*TRACK_NAMES, "seed:1", "seed:3", "seed:8"])
@pytest.mark.parametrize("seed", [0, 1])
def test_expert_laps_every_track_without_a_hit(name, seed):
    world = World(name, seed=seed, camera=SMALL)
    seen = drive(world, Expert(world.track), laps=2)
    assert seen[-1].lap == 2
    assert all(step.hit == "none" for step in seen)
    assert max(abs(step.cte_m) for step in seen) < world.track.half_width_m + 0.3
    assert 8.0 < seen[-1].lap_times[-1] < 30.0


def test_it_cuts_corners_at_the_same_places_on_every_seed():
    profiles = []
    for seed in range(4):
        world = World("loop", seed=seed, camera=SMALL)
        seen = drive(world, Expert(world.track), laps=2)
        bins = np.array([int(step.s_m / world.track.length_m * 40) for step in seen]) % 40
        cte = np.array([step.cte_m for step in seen])
        profiles.append([cte[bins == b].mean() for b in range(40)])
    correlation = np.corrcoef(profiles)[np.triu_indices(4, 1)]
    assert correlation.min() > 0.5
    assert np.abs(np.mean(profiles, axis=0)).max() > 0.12


def test_a_longer_look_ahead_cuts_more():
    def mean_error(lookahead_m: float) -> float:
        world = World("loop", seed=0, camera=SMALL)
        return float(np.mean([abs(step.cte_m) for step in drive(world, Expert(world.track, lookahead_m=lookahead_m), laps=1)]))

    assert mean_error(1.4) > 1.3 * mean_error(0.7)


def test_noise_disturbs_the_command_but_not_the_label():
    world = World("loop", seed=0, camera=SMALL)
    expert = Expert(world.track, noise_std=0.4, rng=np.random.default_rng(1))
    seen, disturbed = world.observe(), []
    for _ in range(600):
        command = expert.run(seen.x, seen.y, seen.yaw, seen.speed)
        disturbed.append(command[0] != expert.intended[0])
        assert -1.0 <= command[0] <= 1.0 and command[1] == expert.intended[1]
        seen = world.step(*command)
    assert seen.hit == "none"
    assert 0.05 < np.mean(disturbed) < 0.6


def test_it_finds_back_after_being_put_elsewhere():
    world = World("hairpin", seed=0, camera=SMALL)
    expert = Expert(world.track)
    drive(world, expert, laps=1, max_steps=100)
    world.reset("random", offset_m=0.3)
    expert.reset()
    seen = drive(world, expert, laps=1, max_steps=200)
    assert seen[-1].hit == "none" and abs(seen[-1].cte_m) < 0.5
