"""The environments: gymnasium's and stable-baselines3's checkers, the drive loop's bytes, gym-donkeycar's words."""

import hashlib

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_for_sb3

import donkey_aicc.gym as ours
from donkey_aicc.errors import AiccError
from donkey_aicc.faults.fault import make_fault
from donkey_aicc.simulator.drivers import Expert, ExpertDriver
from donkey_aicc.simulator.driving import Marshal, drive
from donkey_aicc.simulator.tracks import TRACK_NAMES
from donkey_aicc.simulator.world import World

LOOP = ours.env_id("loop")
STRAIGHT = np.array([0.0, 0.5], np.float32)


def digest(image):
    return hashlib.sha256(image.tobytes()).hexdigest()


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the checkers: ours is a stranger's environment
@pytest.mark.parametrize("arguments", [{}, {"cam_resolution": (64, 64, 3), "faults": "dark:3@1s", "laps": 1}])
def test_the_checkers_are_content(arguments):
    check_env(gymnasium.make(LOOP, render_mode="rgb_array", **arguments).unwrapped)
    check_for_sb3(gymnasium.make(ours.GENERATED, seed=3, **arguments))


def test_every_track_has_an_id_and_a_number_makes_another():
    for track in TRACK_NAMES:
        assert gymnasium.make(ours.env_id(track)).unwrapped.ride.world.track.name == track
    assert gymnasium.make(ours.GENERATED, seed=7).unwrapped.ride.world.track.name == "seed:7"


@pytest.mark.parametrize(
    ("fault", "severity"), [("", 0), ("dark", 3), ("bias", 4), ("latency", 2), ("grip", 3), ("camera_pitch", 2)]
)
def test_the_same_seed_and_actions_give_the_bytes_of_the_drive_loop(fault, severity):
    """200 ticks, the fault from the 40th on: frames, places and what reached the wheels."""
    world = World("loop", seed=5)
    source = (lambda episode: make_fault(fault, severity, seed=5, episode=episode)) if fault else None
    driver = ExpertDriver(Expert(world.track))
    theirs = list(drive(world, driver, 100, source, Marshal(departed_m=9.0, warm_up_frames=40)))
    env = gymnasium.make(LOOP, faults=f"{fault}:{severity}@2s" if fault else None, max_cte=9.0, throttle_min=-1.0)
    image, _ = env.reset(seed=5)
    for tick in theirs:
        assert digest(image) == digest(tick.image)
        seen = env.unwrapped.ride.observation
        assert (seen.x, seen.y, seen.cte_m) == (tick.observation.x, tick.observation.y, tick.observation.cte_m)
        action = np.array(tick.intended, np.float64)  # wider than the space: a float32 would be another command
        image, _, _, _, info = env.unwrapped.step(action)
        assert env.unwrapped.ride.sent == tick.sent
        assert info["fault"] == (tick.fault.protocol if tick.fault else "")


def test_info_reward_and_spaces_are_those_of_gym_donkeycar():
    env = gymnasium.make(LOOP, conf={"host": "127.0.0.1", "throttle_max": 0.8, "steer_limit": 0.9})
    assert env.action_space.low.tolist() == pytest.approx([-0.9, 0.0]) and env.action_space.high.tolist() == pytest.approx(
        [0.9, 0.8]
    )
    assert env.observation_space.shape == (120, 160, 3) and env.observation_space.dtype == np.uint8
    env.reset(seed=1)
    for _ in range(10):
        _, reward, _, _, info = env.step(STRAIGHT)
    assert set(info) >= {"pos", "cte", "speed", "hit", "car", "last_lap_time", "lap_count", "gyro", "accel", "vel", "lidar"}
    assert reward == pytest.approx((1.0 - abs(info["cte"]) / 0.7) * info["forward_vel"]) and reward > 0.0
    assert info["hit"] == "none" and info["lap_count"] == 0 and info["accel"][2] > 0.0
    roll, pitch, yaw = info["car"]
    ahead = np.sin(np.radians(yaw)), np.cos(np.radians(yaw))
    assert (roll, pitch) == (0.0, 0.0) and np.dot(ahead, (info["vel"][0], info["vel"][2])) == pytest.approx(info["speed"])


def test_a_departure_ends_the_episode_and_need_not():
    env = gymnasium.make(LOOP)
    env.reset(seed=1)
    steps = [env.step(STRAIGHT)]
    while not steps[-1][2]:
        steps.append(env.step(STRAIGHT))
    *before, last = steps
    assert abs(last[4]["cte"]) > 0.7 and last[1] == -1.0 and all(step[1] >= 0.0 for step in before)
    env = gymnasium.make(LOOP, end_at_departure=False)
    env.reset(seed=1)
    steps = [env.step(STRAIGHT) for _ in range(150)]
    hit = next(number for number, step in enumerate(steps) if step[4]["hit"] == "wall")
    assert not any(step[2] for step in steps)
    assert abs(steps[hit + 1][4]["cte"]) < 0.1, "set back on the lane"


def test_a_lap_ends_the_episode_where_that_is_wanted():
    env = gymnasium.make(ours.env_id("oval"), cam_resolution=(16, 16, 3), laps=1, frame_skip=2)
    env.reset(seed=2)
    expert, over, reward = Expert(env.unwrapped.ride.world.track), False, 0.0
    while not over:
        seen = env.unwrapped.ride.observation
        _, reward, over, truncated, info = env.step(np.array(expert.run(seen.x, seen.y, seen.yaw, seen.speed), np.float32))
        assert not truncated
    assert info["lap_count"] == 1 and info["last_lap_time"] > 10.0 and reward > 0.0


def test_a_sampler_gives_each_episode_its_own_fault_and_a_seed_the_same_ones():
    def sampler(rng):
        return f"{rng.choice(['fog', 'drag'])}:{rng.integers(1, 6)}" if rng.random() < 0.8 else None

    def faults():
        env, found = gymnasium.make(LOOP, faults=sampler, cam_resolution=(16, 16, 3)), []
        for episode in range(8):
            env.reset(seed=9 if episode == 0 else None)
            found.append(env.step(STRAIGHT)[4]["fault"])
        return found

    assert faults() == faults() and set(faults()) == {"", "fog", "drag"}


def test_a_reward_of_ones_own_and_the_view_from_above():
    env = gymnasium.make(LOOP, render_mode="rgb_array", start="random")
    env.unwrapped.set_reward_fn(lambda state, over: state.speed * 10 + state.max_cte)
    env.reset(seed=3)
    _, reward, _, _, info = env.step(STRAIGHT)
    assert reward == pytest.approx(10 * info["speed"] + 0.7)
    assert env.render().shape == (480, 640, 3)
    env.reset(options={"pose": None, "faults": "blur:5"})
    assert env.step(STRAIGHT)[4]["fault"] == "blur"


def test_several_at_once_are_the_same_as_one_by_one():
    many = gymnasium.make_vec(LOOP, num_envs=2, vectorization_mode="sync", cam_resolution=(32, 32, 3))
    one = gymnasium.make(LOOP, cam_resolution=(32, 32, 3))
    images, _ = many.reset(seed=[4, 8])
    assert digest(images[1]) == digest(one.reset(seed=8)[0])
    for _ in range(3):
        assert digest(many.step(np.stack([STRAIGHT, STRAIGHT]))[0][1]) == digest(one.step(STRAIGHT)[0])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"track": "ovale"}, "track must be one of loop"),
        ({"faults": "smoke:1"}, "fault must be one of dark"),
        ({"max_ct": 1}, "environment argument must be one of cam_resolution"),
        ({"conf": {"lidar_config": {}}}, "environment argument must be one of"),
        ({"cam_resolution": (64, 64, 1)}, r"cam_resolution must be \(height, width, 3\)"),
        ({"cam_resolution": (64, 6, 3)}, "camera width must be"),
        ({"laps": 0}, "laps must be a whole number >= 1, got 0"),
        ({"max_cte": float("nan")}, "max_cte must be > 0 m"),
        ({"throttle_min": 0.5, "throttle_max": 0.2}, "throttle_min and throttle_max"),
        ({"start": "here"}, "start must be one of line, random"),
        ({"render_mode": "human"}, "render_mode must be None or rgb_array"),
    ],
)
def test_a_mistake_is_one_clear_message(arguments, reason):
    with pytest.raises(AiccError, match=reason):
        ours.DonkeyEnv(**arguments)
    with pytest.raises(AiccError, match="reset option must be one of faults, pose; got 'lap'"):
        ours.DonkeyEnv().reset(options={"lap": 1})
