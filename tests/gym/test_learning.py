"""What an agent learns on the latents, and the pilot that drives a car with it: no pickles, no torch, the same commands."""

import importlib.util
import json
import zipfile
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from safetensors.numpy import load, save
from stable_baselines3 import PPO, SAC, TD3

import donkey_aicc.gym as ours
from donkey_aicc import channels
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.latent_pilot import MEMBER, LatentPilot
from tests.car_under_test import drive, free_port, make_car, only_tub, read_tub
from tests.monitor_under_test import make_bundle

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_sac.py"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("latents") / "bundle")


def make_env(bundle, history=4):
    return ours.LatentEnv(gymnasium.make(ours.env_id("loop"), throttle_min=0.2, throttle_max=0.6), bundle, history)


@pytest.mark.parametrize("kind", [SAC, TD3, PPO])
def test_the_pilot_commands_what_the_agent_did(bundle, tmp_path, kind):
    threads = torch.get_num_threads()
    env = make_env(bundle)
    model = kind("MlpPolicy", env, **({"buffer_size": 10} if kind is not PPO else {}), policy_kwargs={"net_arch": [8]}, seed=1)
    ours.keep_pilot(model, tmp_path / "model.zip", bundle)
    pilot = LatentPilot()
    pilot.load(tmp_path / "model.zip")
    seen, _ = env.reset(seed=2)
    for _ in range(6):
        image = env.unwrapped.ride.image
        action, _ = model.predict(seen, deterministic=True)
        assert pilot.run(image) == pytest.approx(action.tolist(), abs=1e-5)
        seen = env.step(action)[0]
    assert kind.load(tmp_path / "model.zip").num_timesteps == 0, "stable-baselines3 reads the same file"
    pilot.reset()
    assert pilot.run(None) == (0.0, 0.0) and pilot.run(np.zeros((4, 4, 7))) == (0.0, 0.0)
    torch.set_num_threads(threads)


def test_a_car_drives_with_it_and_the_monitor_on(bundle, tmp_path):
    model = SAC("MlpPolicy", make_env(bundle), buffer_size=10, policy_kwargs={"net_arch": [8]}, seed=1)
    ours.keep_pilot(model, tmp_path / "model.zip", bundle)
    settings = {"AICC_BUNDLE": str(bundle), "AICC_SIM_REALTIME": False, "MAX_LOOPS": 40, "WEB_CONTROL_PORT": free_port()}
    car = make_car(tmp_path / "car", **settings)
    assert drive(car, "--headless", "--fast", "--model", str(tmp_path / "model.zip")) == 0
    records, _ = read_tub(only_tub(car))
    driven = [record for record in records if record[channels.MODE] == "local"]
    assert driven and all(0.2 <= record[channels.THROTTLE] <= 0.6 for record in driven[2:])
    assert {"aicc/health", "aicc/p_safe"} <= set(driven[-1])


def test_what_is_no_pilot_is_said(bundle, tmp_path):
    model = SAC("MlpPolicy", make_env(bundle), buffer_size=10, policy_kwargs={"net_arch": [8]}, seed=1)
    model.save(tmp_path / "plain.zip")
    ours.keep_pilot(model, tmp_path / "good.zip", bundle)
    content = zipfile.ZipFile(tmp_path / "good.zip").read(MEMBER)
    tensors = load(content)
    about = json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["about"])

    def altered(name, change, **said):
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr(MEMBER, save({**tensors, **change}, {"about": json.dumps({**about, **said})}))
        return tmp_path / name

    (tmp_path / "text.zip").write_text("hello")
    wrong = {
        tmp_path / "plain.zip": "save the model with donkey_aicc.gym.keep_pilot",
        tmp_path / "text.zip": "cannot be read",
        tmp_path / "none.zip": "cannot be read",
        altered("nan.zip", {"0.bias": np.full(8, np.nan, np.float32)}): "not a number in 0.bias",
        altered("shape.zip", {"0.weight": np.zeros((8, 5), np.float32)}): "cannot be used",
        altered("layer.zip", {}, layers=["Exec"]): "cannot be used",
        altered("low.zip", {}, low=[0.0]): "cannot be used",
        altered("history.zip", {}, history=10**9): "cannot be used",
        altered("bundle.zip", {}, bundle="../../etc"): "no bundle",
    }
    for path, reason in wrong.items():
        with pytest.raises(AiccError, match=reason):
            LatentPilot().load(path)
    LatentPilot().load(altered("moved.zip", {}, bundle="gone"), bundle)


@pytest.mark.slow
def test_the_example_learns_to_stay_longer(tmp_path):
    """1,500 steps of its 15,000: the last episodes are at least half as long again as the first."""
    spec = importlib.util.spec_from_file_location("train_sac", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    threads = torch.get_num_threads()
    episodes = example.train(tmp_path / "model.zip", 1500)
    torch.set_num_threads(threads)
    rewards = [episode[2] for episode in episodes]
    assert np.mean(rewards[-5:]) > 1.5 * np.mean(rewards[:10])
    example.draw(episodes, tmp_path / "curve.png")
    pilot = LatentPilot()
    pilot.load(tmp_path / "model.zip")
    assert 0.35 <= pilot.run(np.full((120, 160, 3), 120, np.uint8))[1] <= 0.5
