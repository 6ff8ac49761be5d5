"""The car's monitor beside an environment: what a car would say of the same frames and commands, ours or a stranger's."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from donkeycar.vehicle import Vehicle

import donkey_aicc.gym as ours
from donkey_aicc import channels
from donkey_aicc.car import wiring
from donkey_aicc.errors import AiccError
from tests.monitor_under_test import add_calibrator, make_bundle

SAID = [channels.P_SAFE, channels.CONFIDENCE, channels.RHO, channels.DELTA, channels.ALARM, channels.STATUS]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = make_bundle(tmp_path_factory.mktemp("gym") / "bundle")
    add_calibrator(path, alarm=True)
    return path


class Stranger(gymnasium.Env):
    """Somebody's environment: another picture size, actions the other way round, and the lights go out after 25 frames."""

    observation_space = gymnasium.spaces.Dict({"eye": gymnasium.spaces.Box(0, 255, (40, 50, 3), np.uint8)})
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.frame, self.got = 0, []
        return self._see(), {}

    def step(self, action):
        self.frame += 1
        self.got.append(action)
        return self._see(), 0.0, False, False, {"mine": 1}

    def _see(self):
        return {"eye": self.np_random.integers(60, 200, (40, 50, 3), dtype=np.uint8) // (1 if self.frame < 25 else 10)}


class Tape:
    """Camera and pilot that repeat what was seen."""

    def __init__(self, frames):
        self.frames = iter(frames)

    def run(self):
        return next(self.frames), 0.1, 0.6


class Motor:
    def run(self, steering, throttle):
        pass


def test_it_says_what_the_car_says_of_the_same_frames(bundle, tmp_path):
    env = ours.MonitoredEnv(
        Stranger(), bundle, frame=lambda seen: seen["eye"], command=lambda action: (float(action[1]), float(action[0]))
    )
    seen, _ = env.reset(seed=3)
    frames, told = [], []
    for _ in range(45):
        frames.append(seen["eye"])
        seen, _, _, _, info = env.step(np.array([0.6, 0.1]))
        assert info["mine"] == 1
        told.append([info[name] for name in SAID])
    cfg = SimpleNamespace(DATA_PATH=str(tmp_path), DRIVE_LOOP_HZ=20, DONKEY_GYM=False, AICC_BUNDLE=str(bundle))
    cfg.AICC_SCORER_THREADED, cfg.AICC_MAX_SCORE_AGE_S = False, 60.0
    vehicle = Vehicle()
    vehicle.mem[channels.MODE] = "local"
    vehicle.add(Tape(frames), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    vehicle.add(Motor(), inputs=[channels.STEERING, channels.THROTTLE])
    wiring.add_aicc(vehicle, cfg)
    for said in told:
        vehicle.update_parts()
        assert vehicle.mem.get(SAID) == said
    assert {row[SAID.index(channels.ALARM)] for row in told} == {"none", "watch", "danger"}


def test_a_governor_has_the_last_word_and_a_reset_begins_anew(bundle):
    env = ours.MonitoredEnv(Stranger(), bundle, frame=lambda seen: seen["eye"], governor="stop")
    told = []
    for _ in range(2):
        env.reset(seed=3)
        said = [env.step(np.array([0.1, 0.6], np.float32))[4] for _ in range(45)]
        told.append([{name: row[name] for name in SAID} for row in said])
        throttles = [float(action[1]) for action in env.unwrapped.got]
        assert throttles[20] == pytest.approx(0.6) and throttles[-1] == 0.0 and env.unwrapped.got[0].dtype == np.float32
        assert said[20][channels.ALARM] == "none" and said[-1][channels.ACTION] == "stopped"
    assert told[0] == told[1], "nothing of an episode goes into the next"


def test_our_own_environment_needs_no_words(bundle):
    env = ours.MonitoredEnv(gymnasium.make(ours.env_id("loop"), faults="dark:5"), bundle)
    env.reset(seed=1)
    info = env.step(np.array([0.0, 0.4], np.float32))[4]
    assert info["fault"] == "dark" and len(info[channels.CONFIDENCE]) == 2 and info[channels.HAZARD] == []


def test_what_does_not_fit_is_said(bundle):
    with pytest.raises(AiccError, match="give frame=, a function from observation to picture"):
        ours.MonitoredEnv(Stranger(), bundle)
    with pytest.raises(AiccError, match="needs actions of .steering, throttle., got Discrete"):
        ours.MonitoredEnv(gymnasium.make("CartPole-v1"), bundle, frame=lambda seen: seen)
    with pytest.raises(AiccError, match="no bundle at nowhere"):
        ours.MonitoredEnv(gymnasium.make(ours.env_id("loop")), "nowhere")
