"""A car that is set up for the Unity simulator drives our server, and its tub says what it was: the story of docs/unity.md."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from donkey_aicc import channels
from donkey_aicc.sim_server.server_settings import ServerSettings
from donkey_aicc.tubs.load import load_drives
from tests.car_under_test import free_port, make_car, only_tub, read_tub
from tests.sim_server.client_under_test import Served

STAND_INS = Path(__file__).parent / "stand_ins"
UNITY = {"AICC_SIM": False, "DONKEY_GYM": True, "DONKEY_SIM_PATH": "remote", "SIM_RECORD_LOCATION": True}


@pytest.mark.slow  # a drive of some seconds by the clock
def test_a_car_made_for_the_unity_simulator_drives_leaves_the_lane_and_its_tub_says_so(tmp_path):
    car = make_car(tmp_path / "car", AICC_BUNDLE="reference", WEB_CONTROL_PORT=free_port(), **UNITY)
    with Served(ServerSettings(port=0)) as port:
        paths = os.pathsep.join([str(STAND_INS), *filter(None, [os.environ.get("PYTHONPATH")])])
        process = subprocess.Popen(
            [sys.executable, "manage.py", "drive", "--headless", "--model", "models/straight"],
            cwd=car,
            env={**os.environ, "PYTHONPATH": paths, "STAND_IN_PORT": str(port), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        deadline = time.monotonic() + 120.0
        while time.monotonic() < deadline and process.poll() is None:
            if any((car / "data").glob("tub_*/images/250_*")):
                break
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert "Traceback" not in said, said
    assert "trained in the embedded simulator, and this is the Unity simulator, generated_track" in said
    records, _ = read_tub(only_tub(car))
    assert max(record["pos/speed"] for record in records) > 5.0 and any(record[channels.HIT] for record in records)
    assert {record[channels.LAP] for record in records} == {1}
    loaded = load_drives([car / "data"], min_length=1)
    (health,) = loaded.report.tubs
    assert (health.home, loaded.lane_half_width) == ("the Unity simulator, generated_track", 3.0)
    assert health.departures >= 1 and "departures" in loaded.report.to_text()
