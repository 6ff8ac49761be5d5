"""donkeycar's smaller templates, installed into and really driven; what they need and CI has not is replaced by stand-ins."""

import os
import signal
import subprocess
import sys

import pytest

from donkey_aicc import channels, cli
from tests.car_under_test import free_port, read_tub, write_settings
from tests.page_under_test import Page

MOCK = {"CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK", "DONKEY_SIM_PATH": "remote", "AICC_INJECT_BUTTONS": True}
STAND_INS = {
    "albumentations/__init__.py": "GaussianBlur = Compose = object\n",
    "albumentations/core/__init__.py": "",
    "albumentations/core/transforms_interface.py": "BasicTransform = object\n",
    "albumentations/augmentations.py": "RandomBrightnessContrast = object\n",
    "gym_donkeycar.py": "",
    "gym.py": """
import numpy as np, time

class Env:
    def reset(self):
        return np.full((120, 160, 3), 90, np.uint8)

    def step(self, action):
        time.sleep(0.01)
        zero = (0, 0, 0)
        return self.reset(), 0.0, False, dict(pos=zero, speed=0, cte=0, gyro=zero, accel=zero, vel=zero, lidar=[])

    def close(self):
        pass

def make(*given, **named):
    return Env()
""",
    # donkeycar 5.4 asks gymnasium, which also says why an episode ended and what there was at the start.
    "gymnasium.py": """
import gym

class Env(gym.Env):
    def reset(self):
        return super().reset(), {}

    def step(self, action):
        (frame, _), reward, done, info = super().step(action)
        return frame, reward, done, False, info

def make(*given, **named):
    return Env()
""",
}


@pytest.fixture
def drive(tmp_path):
    """Make a car of a template, install into it and start it: drive(template, **settings) -> car, port, process."""
    from donkeycar.management.base import CreateCar

    for name, code in STAND_INS.items():
        (tmp_path / "stand_ins" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "stand_ins" / name).write_text(code)
    started = []

    def start(template, **settings):
        car, port = tmp_path / template, free_port()
        CreateCar().create_car(str(car), template=template)
        assert cli.main(["install", str(car), "--yes"]) == 0
        write_settings(car, WEB_CONTROL_PORT=port, **MOCK, **settings)
        paths = [str(tmp_path / "stand_ins"), os.environ.get("PYTHONPATH", "")]
        started.append(
            subprocess.Popen(
                [sys.executable, "manage.py", "drive", "--inject", "dark:5"],
                cwd=car,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        )
        return car, port, started[0]

    yield start
    for process in started:
        process.kill()


@pytest.mark.parametrize(("template", "fault"), [("basic", ""), ("simulator", "dark")])
def test_a_template_that_calls_its_steering_angle_is_driven_and_recorded(drive, template, fault):
    async def story(page):
        await page.send(recording=True, drive_mode="local")

    car, port, process = drive(template)
    Page(car, port).play(story)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert "donkey_aicc: monitor in learning mode" in said and f":{port}/aicc" in said and "Traceback" not in said
    records, _ = read_tub(car / "data")
    told = [record[channels.INJECT_PROTOCOL] for record in records if record["user/mode"] == "local"]
    assert told and set(told[1:]) == {fault}  # a simulator is armed by itself, a real car is not
    assert all(isinstance(record[channels.STEERING], float) for record in records)


def test_path_follow_drives_with_the_cockpit_and_without_a_tub(drive):
    car, port, process = drive("path_follow", MAX_LOOPS=20)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and f":{port}/aicc" in said and "Traceback" not in said
    assert not list((car / "data").glob("*"))
