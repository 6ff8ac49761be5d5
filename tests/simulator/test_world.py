import math

import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.camera import CameraConfig
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.world import LapCounter, World

COMMANDS = [(0.4 * math.sin(0.1 * i), 0.3 + 0.1 * math.cos(0.05 * i)) for i in range(60)]


def play(world: World):
    return [world.step(*command) for command in COMMANDS]


def test_same_seed_and_commands_give_the_same_bytes():
    for one, other in zip(play(World("loop", seed=3)), play(World("loop", seed=3)), strict=True):
        assert np.array_equal(one.image, other.image)
        assert (one.x, one.y, one.yaw, one.speed, one.cte_m) == (other.x, other.y, other.yaw, other.speed, other.cte_m)


def test_reset_with_a_seed_replays():
    world = World("loop", seed=3)
    first = play(world)
    world.reset(seed=3)
    assert np.array_equal(play(world)[-1].image, first[-1].image)


def test_other_seed_drives_another_way():
    one, other = play(World("loop", seed=3))[-1], play(World("loop", seed=4))[-1]
    assert math.hypot(one.x - other.x, one.y - other.y) > 1e-3
    assert not np.array_equal(one.image, other.image)


def test_reset_without_seed_goes_on_with_new_randomness():
    world = World("loop", seed=3)
    first = play(world)[-1]
    world.reset()
    assert play(world)[-1].x != first.x


def test_looking_does_not_move_the_car():
    world = World("loop")
    world.step(0.1, 0.5)
    one, other = world.observe(), world.observe()
    assert (one.x, one.time_s) == (other.x, other.time_s)
    assert not np.array_equal(one.image, other.image)


def test_images_already_handed_out_stay_as_they_were():
    world = World("loop")
    first = world.step(0.0, 0.5)
    copy = first.image.copy()
    world.step(0.0, 0.5)
    assert np.array_equal(first.image, copy)


@pytest.mark.parametrize(("given", "meant"), [((None, None), (0, 0)), ((math.nan, 0.5), (0, 0.5)), ((-7.0, 99.0), (-1, 1))])
def test_odd_commands_are_made_good(given, meant):
    one, other = World("oval", seed=1), World("oval", seed=1)
    for _ in range(10):
        a, b = one.step(*given), other.step(*meant)
    assert (a.x, a.y, a.yaw) == (b.x, b.y, b.yaw)


def test_hitting_the_wall_stops_the_car_until_reset():
    world = World("loop")
    seen = world.observe()
    while seen.hit == "none" and seen.time_s < 20:
        seen = world.step(0.0, 0.8)
    assert seen.hit == "wall" and seen.speed == 0.0
    xmin, ymin, xmax, ymax = world.track.arena
    assert xmin < seen.x < xmax and ymin < seen.y < ymax
    stuck = world.step(-1.0, 1.0)
    assert (stuck.x, stuck.hit) == (seen.x, "wall")
    assert stuck.time_s > seen.time_s
    free = world.reset()
    assert free.hit == "none" and free.time_s == 0.0 and world.step(0.0, 0.5).hit == "none"


def test_put_back_continues_where_the_car_left():
    world = World("loop")
    seen = world.observe()
    while seen.hit == "none" and seen.time_s < 20:
        seen = world.step(0.0, 0.8)
    back = world.put_back()
    assert back.hit == "none" and abs(back.cte_m) < 0.01
    assert back.s_m == pytest.approx(seen.s_m, abs=0.05)
    assert back.time_s == seen.time_s


def test_reset_places_the_car():
    world = World("loop")
    assert world.reset().s_m == pytest.approx(0.0, abs=0.03)
    assert world.reset(offset_m=0.2).cte_m == pytest.approx(0.2, abs=0.01)
    x, y, yaw = world.track.pose_at(7.0)
    seen = world.reset((x, y, yaw))
    assert seen.s_m == pytest.approx(7.0, abs=0.03) and seen.yaw == yaw
    places = [world.reset("random").s_m for _ in range(20)]
    assert np.ptp(places) > 0.5 * world.track.length_m


@pytest.mark.parametrize("pose", ["somewhere", (100.0, 0.0, 0.0), (0.0, 0.0, math.nan)])
def test_impossible_pose_is_refused(pose):
    with pytest.raises(ConfigError, match="pose must"):
        World("loop").reset(pose)


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="rate_hz"):
        World("loop", rate_hz=0)
    with pytest.raises(ConfigError, match="seed must be >= 0"):
        World("loop", seed=-1)
    with pytest.raises(ConfigError, match="nowhere"):
        World("nowhere")


def test_takes_a_track_a_camera_and_a_rate():
    world = World(make_track("oval"), rate_hz=50.0, camera=CameraConfig(width=80, height=60))
    seen = world.step(0.0, 0.5)
    assert seen.image.shape == (60, 80, 3)
    assert seen.time_s == pytest.approx(0.02)


def drive(counter: LapCounter, places, start_time: float = 0.0) -> None:
    for i, s_m in enumerate(places):
        counter.update(s_m % 20.0, start_time + 0.5 * i)


def test_counts_and_times_laps():
    counter = LapCounter(20.0)
    drive(counter, range(65))
    assert counter.laps == 3
    assert counter.lap_times == (10.0, 10.0, 10.0)


def test_wobbling_on_the_line_counts_nothing():
    counter = LapCounter(20.0)
    drive(counter, [0, 19.9, 0.1, 19.8, 0.2] * 5)
    assert counter.laps == 0


def test_cutting_across_counts_nothing():
    counter = LapCounter(20.0)
    drive(counter, [0, 2, 4, 15, 17, 19, 0, 1])
    assert counter.laps == 0


def test_a_start_in_the_middle_is_no_lap():
    counter = LapCounter(20.0)
    counter.reset(10.0, 0.0)
    drive(counter, range(10, 41))
    assert counter.laps == 1
    assert counter.lap_times == (10.0,)


def test_driving_backwards_counts_nothing():
    counter = LapCounter(20.0)
    drive(counter, range(60, 0, -1))
    assert counter.laps == 0
