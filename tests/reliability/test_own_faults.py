"""A whole drive loop with the monitor on, in which something of the car's own breaks: it drives on, and says what is wrong."""

import itertools
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from donkeycar import vehicle
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.car.wiring import add_aicc
from donkey_aicc.nets.bundle import Bundle
from tests.monitor_under_test import add_calibrator, make_bundle

RATE_HZ = 20


class SimulatorPart:
    """The camera: noise, until a test puts something else into `gives`. Its name lets time be counted in ticks."""

    def __init__(self):
        self.rng, self.gives = np.random.default_rng(0), None

    def run(self):
        frame = self.rng.integers(60, 200, (120, 160, 3)).astype(np.uint8)
        return frame if self.gives is None else self.gives(frame)


class Pilot:
    def run(self):
        return 0.1, 0.5


class Motor:
    def run(self, throttle):
        self.sent = throttle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = make_bundle(tmp_path_factory.mktemp("monitor") / "bundle")
    add_calibrator(folder, alarm=True)
    return folder


class Car:
    def __init__(self, folder, bundle, **settings):
        self.vehicle, self.camera, self.motor = Vehicle(), SimulatorPart(), Motor()
        self.vehicle.mem[channels.MODE] = "local"
        self.vehicle.add(self.camera, outputs=[channels.IMAGE])
        self.vehicle.add(Pilot(), outputs=[channels.STEERING, channels.THROTTLE])
        self.vehicle.add(self.motor, inputs=[channels.THROTTLE])
        given = {"AICC_BUNDLE": str(bundle), "AICC_SCORER_THREADED": False, "AICC_SIM": True, **settings}
        cfg = SimpleNamespace(DATA_PATH=str(folder), DRIVE_LOOP_HZ=RATE_HZ, DONKEY_GYM=False, **given)
        self.inputs, self.types = add_aicc(self.vehicle, cfg)

    def drive(self, ticks):
        """The status of every tick."""
        return [self.tick() for _ in range(ticks)]

    def tick(self):
        self.vehicle.update_parts()
        assert self.motor.sent == 0.5
        return self.vehicle.mem[channels.STATUS]


@pytest.fixture
def car(tmp_path, bundle):
    return Car(tmp_path, bundle)


@pytest.mark.parametrize("net", ["predict", "encode", "step", "decode"])
def test_a_net_that_raises_is_told_and_the_car_drives_on(car, monkeypatch, net):
    car.drive(30)
    monkeypatch.setattr(Bundle, net, lambda *_: (_ for _ in ()).throw(MemoryError()))
    told = car.drive(40)
    assert not {"ok", "warming up"} & set(told[25:])
    assert car.vehicle.mem[channels.CONFIDENCE_MIN] <= 0.5
    monkeypatch.undo()
    assert car.drive(40)[-1] == "ok" or car.vehicle.mem[channels.STATUS].startswith("unusual")


def held(frame):
    """A camera that gives one frame for good."""
    return lambda _: frame


@pytest.mark.parametrize("fault", [None, "dark:3", "speckle:3", "salt_and_pepper:2", "latency:1"])
@pytest.mark.parametrize("gives", [lambda _: None, held(np.full((120, 160, 3), 90, np.uint8))])
def test_a_camera_that_stands_still_is_frozen_also_under_a_fault(tmp_path, bundle, fault, gives):
    car = Car(tmp_path, bundle, AICC_INJECT=fault)
    car.drive(10)
    car.camera.gives = gives
    assert set(car.drive(RATE_HZ)[RATE_HZ // 2 + 1 :]) == {"camera frozen"}
    car.camera.gives = None
    assert "camera frozen" not in car.drive(RATE_HZ)[RATE_HZ // 2 :] or fault == "latency:1"


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_neither_holds_up_the_loop_nor_frightens_the_monitor(car, monkeypatch, jump_s):
    car.drive(30)
    true, ticks, slept = time.time, itertools.count(), []

    class Clock:
        """Set while the second of three ticks runs."""

        def run(self):
            if next(ticks) == 1:
                monkeypatch.setattr(time, "time", lambda: true() + jump_s)

    car.vehicle.add(Clock())
    monkeypatch.setattr(vehicle.time, "sleep", slept.append)
    assert car.vehicle.start(rate_hz=0.1, max_loop_count=3)[0] == 3
    assert (
        len(slept) == 2
        and max(slept) <= 10.0
        and car.vehicle.mem[channels.STATUS] not in ("scores stale", "warming up", "camera frozen")
    )


@pytest.mark.parametrize("how", ["unlink", "truncate", "overwrite"])
def test_a_bundle_that_goes_while_the_car_drives_changes_nothing(tmp_path, bundle, how):
    """In a process of its own: a file cut short under a map of the memory ends a program without a word."""
    folder = tmp_path / "bundle"
    shutil.copytree(bundle, folder)
    code = f"""
import os
from pathlib import Path
from tests.reliability.test_own_faults import Car
folder = Path({str(folder)!r})
car = Car(folder.parent / "data", folder)
car.drive(12)
for file in folder.iterdir():
    if {how!r} == "unlink":
        file.unlink()
    else:
        os.truncate(file, 0)
    if {how!r} == "overwrite":
        file.write_bytes(os.urandom(100_000))
print(car.drive(45)[-1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-800:]
    assert done.stdout.splitlines()[-1] in ("ok", "unusual picture", "unusual driving", "unusual picture and driving")
