"""A car folder made by our template, and its manage.py run in this process or in one of its own."""

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import torch
from docopt import docopt

from donkey_aicc.car.install_parts import create_car
from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.nets.vision_pilot import save_pilot


def make_car(folder: Path, **settings: object) -> Path:
    """A car with these settings in its myconfig.py and, in models/straight, a pilot that drives straight ahead."""
    create_car(folder)
    write_settings(folder, **{"AICC_BUNDLE": "off", **settings})  # without the monitor, unless a test is about it
    net = PilotNet()
    with torch.no_grad():
        net.head[5].weight.zero_()
        net.head[5].bias.copy_(torch.tensor([0.0, 0.5]))
    save_pilot(folder / "models" / "straight", net, {"made for": "tests"})
    return folder


def write_settings(folder: Path, **settings: object) -> None:
    with open(folder / "myconfig.py", "a") as file:
        file.writelines(f"{key} = {value!r}\n" for key, value in settings.items())


def drive(car: Path, *options: str) -> int:
    """`python manage.py drive ...` without a process of its own; returns the exit code."""
    spec = importlib.util.spec_from_file_location("manage_under_test", car / "manage.py")
    manage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(manage)
    return manage.main(docopt(manage.__doc__, ["drive", *options]))


def start(car: Path, *options: str) -> subprocess.Popen:
    """`python manage.py drive ...` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "drive", *options],
        cwd=car,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def only_tub(car: Path) -> Path:
    """The tub of the car's single drive."""
    (tub,) = (car / "data").glob("tub_*")
    return tub


def read_tub(path: Path) -> tuple[list[dict], object]:
    """Records and manifest, read by donkeycar's own Tub."""
    from donkeycar.parts.tub_v2 import Tub

    tub = Tub(str(path), read_only=True)
    records = list(tub)
    tub.close()
    return records, tub.manifest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]
