"""The car template drives, records and complains as it should."""

import dataclasses
import json
import signal
import socket
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from donkeycar.vehicle import Vehicle
from PIL import Image

from donkey_aicc import channels
from donkey_aicc.car.config import AiccConfig, key_of
from donkey_aicc.errors import AiccError
from donkey_aicc.resources import models_dir, template_dir
from donkey_aicc.simulator.world import World
from tests import car_under_test as cut

FAST = ("--headless", "--fast", "--model", "models/straight")


@pytest.fixture
def car(tmp_path, monkeypatch):
    folder = cut.make_car(tmp_path / "mycar", MAX_LOOPS=40)
    monkeypatch.chdir(folder)
    return folder


def test_a_simulated_drive_is_a_normal_tub_with_all_channels(car):
    assert cut.drive(car, *FAST, "--track", "oval", "--seed", "3") == 0
    records, manifest = cut.read_tub(cut.only_tub(car))
    assert len(records) == 40
    expected = {channels.IMAGE, "user/angle", "user/throttle", "user/mode", "steering", "throttle"}
    expected |= {"pilot/angle", "pilot/throttle", *channels.LOCATION, channels.LAP, channels.HIT}
    expected |= {channels.INJECT_PROTOCOL, channels.INJECT_SEVERITY, channels.INJECT_EPISODE}
    for record in records:
        assert expected <= set(record)
    assert set(manifest.inputs) == expected
    noted = {"track": "oval", "seed": "3", "lane_half_width": "0.35", "step_s": "0.05"}
    assert noted.items() <= manifest.metadata.items()  # replay finds departures and draws the track by it
    assert records[-1]["user/mode"] == "local"
    assert records[-1]["throttle"] == records[-1]["pilot/throttle"] > 0.4
    summary = json.loads((cut.only_tub(car) / "drive.json").read_text())
    assert (summary["loops"], summary["wall_hits"]) == (40, 0)
    assert summary["mean_abs_cte_m"] == pytest.approx(np.mean([abs(r["pos/cte"]) for r in records]), abs=1e-4)


CONTROLS = ["Pipe", "ExplodeDict", "ThrottleFilter", "UserPilotCondition"]
COMMANDS = ["AiLaunch", "DriveMode", "ToggleRecording"]
WITH_AN_ALARM = ("DepartureAlarm", "SafetyGovernor")  # tests/car/test_wiring_monitor.py
OUR_COMMANDS = [
    "InjectionButtons",
    "AnomalyInjector",
    "NewestScores",
    "TTA",
    "AnomalyCalibrator",
    "HealthCheck",
    "MonitorStatus",
    "DriverOutlook",
    "CommandLimits",
]


def test_our_parts_stand_at_their_places(car, monkeypatch):
    def parts_of_a_drive(*options, **settings):
        built = []

        def start(self, **_):
            names = [type(entry["part"]).__name__ for entry in self.parts]
            built.extend(name for name in names if name not in WITH_AN_ALARM)
            self.stop()

        monkeypatch.setattr(Vehicle, "start", start)
        cut.write_settings(car, **settings)
        cut.drive(car, *options)
        return built

    if not (models_dir() / "reference").is_dir():
        pytest.skip("no shipped bundle yet")
    simulator = [
        "SimulatorPart",
        "SimProgress",
        "AnomalyInjector",
        "FrameIntake",
        "HeadlessController",
        *CONTROLS,
        "TemperedPilot",
    ]
    simulator += [*COMMANDS, *OUR_COMMANDS, "WorldModelScorer", "SequenceStart", "UnsafeMark"]
    simulator += ["DriveEnd", "GuardedTub", "DriveLog", "SessionCut", "DriveStopper"]
    # A fixed grade: a quick machine would take a higher one and stand ready to step down, with a part for each grade.
    ours = {"AICC_BUNDLE": "reference", "AICC_MARK_BUTTON": "w1", "AICC_GRADE": "light"}
    assert parts_of_a_drive(*FAST, **ours) == simulator
    real_car = {"AICC_SIM": False, "CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK", "WEB_CONTROL_PORT": cut.free_port()}
    found = parts_of_a_drive("--model", "models/straight", AICC_INJECT_BUTTONS=True, **real_car)
    expected = [
        "MockCamera",
        "AnomalyInjector",
        "FrameIntake",
        "LocalWebController",
        *CONTROLS,
        "VisionPilot",
        *COMMANDS,
        *OUR_COMMANDS[:3],
        "PageHalt",
        *OUR_COMMANDS[3:],
    ]
    assert found == [
        *expected,
        "WorldModelScorer",
        "UnsafeMark",
        "PageWheel",
        "CockpitFeed",
        "DriveEnd",
        "GuardedTub",
        "DriveLog",
        "DriveStopper",
    ]


def test_injected_faults_are_seen_by_the_pilot_and_recorded(car):
    assert cut.drive(car, *FAST, "--inject", "dark:5@10-20ticks,bias:3@15-25ticks") == 0
    records, _ = cut.read_tub(cut.only_tub(car))
    told = [record[channels.INJECT_PROTOCOL] for record in records]
    assert told == [""] * 10 + ["dark"] * 5 + ["bias+dark"] * 5 + ["bias"] * 5 + [""] * 15
    assert all(
        (record["steering"] != record["pilot/angle"]) == ("bias" in name) for record, name in zip(records, told, strict=True)
    )
    assert [record[channels.INJECT_EPISODE] for record in records[9:11]] == [-1, 0]


def test_image_and_label_of_a_record_belong_to_the_same_tick(car):
    cut.drive(car, *FAST, "--seed", "5")
    tub = cut.only_tub(car)
    world = World("loop", seed=5)
    world.observe()  # the part looks once before the first tick
    command = (None, None)
    for record in cut.read_tub(tub)[0]:
        seen = world.step(*command)
        assert (record["pos/cte"], record["pos/pos_x"], record["pos/pos_z"]) == (seen.cte_m, seen.x, seen.y)
        recorded = np.asarray(Image.open(tub / "images" / record[channels.IMAGE]), dtype=float)
        assert np.abs(recorded - seen.image).mean() < 6  # JPEG
        command = record["steering"], record["throttle"]


def test_each_drive_gets_its_own_tub(car):
    cut.write_settings(car, MAX_LOOPS=3)
    for _ in range(2):
        cut.drive(car, *FAST)
    assert len(list((car / "data").glob("tub_*"))) == 2


def test_after_a_wall_the_car_is_put_back_in_a_new_session(car):
    cut.write_settings(car, MAX_LOOPS=130)
    cut.drive(car, *FAST)
    records, manifest = cut.read_tub(cut.only_tub(car))
    hits = [i for i, record in enumerate(records) if record[channels.HIT]]
    assert hits
    sessions = [record["_session_id"] for record in records]
    changes = [i for i in range(len(records) - 1) if sessions[i] != sessions[i + 1]]
    assert changes == [i for i in hits if i + 1 < len(records)]
    assert abs(records[hits[0] + 1]["pos/cte"]) < 0.1
    assert set(sessions) <= set(manifest.manifest_metadata["sessions"]["all_full_ids"])


def test_without_putting_back_the_drive_ends_at_the_wall(car):
    cut.write_settings(car, MAX_LOOPS=500, AICC_SIM_PUT_BACK=False)
    assert cut.drive(car, *FAST) == 0
    records, _ = cut.read_tub(cut.only_tub(car))
    assert [record[channels.HIT] for record in records[-2:]] == [False, True]


def test_the_shipped_pilot_drives_the_wanted_laps(car, capsys):
    if not (models_dir() / "pilot").is_dir():
        pytest.skip("no shipped pilot yet")
    cut.write_settings(car, MAX_LOOPS=1500)
    assert cut.drive(car, "--headless", "--fast", "--laps", "1", "--track", "oval") == 0
    records, _ = cut.read_tub(cut.only_tub(car))
    assert [record[channels.LAP] for record in (records[0], records[-2], records[-1])] == [1, 1, 2]
    assert "lap 1: " in capsys.readouterr().out


def test_mock_camera_headless_goes_on_without_the_page_when_the_port_is_taken(car):
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        mock = {"AICC_SIM": False, "CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK"}
        cut.write_settings(car, WEB_CONTROL_PORT=port, DRIVE_LOOP_HZ=200, MAX_LOOPS=200, **mock)
        with pytest.raises(AiccError, match=f"port {port} cannot be used for the web page"):
            cut.drive(car)
        process = cut.start(car, "--headless", "--model", "models/straight")
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert f"port {port} cannot be used" in out
    assert "going on without it" in out
    records, _ = cut.read_tub(cut.only_tub(car))
    assert len(records) == 200
    assert set(records[0]) >= {channels.IMAGE, "steering", "throttle", "pilot/angle", "user/mode"}
    assert channels.CTE not in records[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_drive_leaves_a_closed_tub_and_the_page_was_served(car, number):
    port = cut.free_port()
    cut.write_settings(car, WEB_CONTROL_PORT=port, MAX_LOOPS=None, DRIVE_LOOP_HZ=50)
    process = cut.start(car, "--headless", "--model", "models/straight")
    try:
        _wait_for(lambda: len(list(car.glob("data/tub_*/images/*.jpg"))) > 20)
        page = urllib.request.urlopen(f"http://localhost:{port}/drive", timeout=10)
        assert page.status == 200
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert "Unexpected closing" not in err
    records, manifest = cut.read_tub(cut.only_tub(car))
    assert len(records) > 20
    assert len(records) == len(list(cut.only_tub(car).glob("images/*.jpg")))
    assert manifest.manifest_metadata["sessions"]["all_full_ids"] == [records[0]["_session_id"]]


def _wait_for(happened, timeout_s=120):
    end = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)


def test_a_mistake_is_one_line_and_exit_code_2(car):
    process = cut.start(car, "--headless", "--track", "nowhere")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "Traceback" not in err
    assert "manage.py: track must be one of loop, oval, hairpin, chicane" in err
    assert "'nowhere'" in err


def test_a_key_that_donkeycar_lacks_is_one_line_too(car):
    with (car / "config.py").open("a") as file:
        file.write("del DATA_PATH\n")
    process = cut.start(car, *FAST)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2 and "manage.py: config.py and myconfig.py lack DATA_PATH" in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"AICC_TRACK": "oval"}, FAST, "unknown setting AICC_TRACK"),
        ({"IMAGE_W": 0}, FAST, "IMAGE_W must be a whole number of pixels from 16 to 2048, got 0"),
        ({"IMAGE_DEPTH": 1}, FAST, "IMAGE_DEPTH must be 3"),
        ({"AICC_SIM": False, "CAMERA_TYPE": "PHONE"}, ("--model", "models/straight"), "CAMERA_TYPE must be one of PICAM"),
        ({"DONKEY_GYM": True}, FAST, "AICC_SIM and DONKEY_GYM must not both be True"),
        ({"USE_LIDAR": True}, FAST, "USE_LIDAR = True is not wired in this manage.py"),
        ({}, (*FAST, "--laps", "0"), "--laps must be a whole number >= 1, got '0'"),
        ({}, (*FAST, "--seed", "x"), "--seed must be a whole number >= 0, got 'x'"),
        ({}, ("--headless", "--fast", "--model", "nothing.h5"), "no model 'nothing.h5'"),
        ({}, ("--headless", "--fast", "--model", "manage.py"), "the model's ending must be one of .safetensors, .zip, .h5"),
        ({}, (*FAST, "--type", "linear"), "--type is for donkeycar's own models"),
        ({}, ("--fast",), "--fast needs --headless"),
        ({}, ("--headless", "--js"), "--js needs somebody"),
        ({"AICC_SIM": False}, ("--headless",), "--headless needs a pilot"),
        ({"AICC_SIM": False}, ("--laps", "2"), "--laps is for the embedded simulator"),
        ({}, (*FAST, "--myconfig", "other.py"), "no settings file"),
    ],
)
def test_mistakes_are_named(car, settings, options, message):
    cut.write_settings(car, WEB_CONTROL_PORT=cut.free_port(), **settings)
    with pytest.raises(AiccError) as error:
        cut.drive(car, *options)
    assert message in str(error.value)
    assert not list((car / "data").iterdir())


def test_a_corrupt_pilot_is_named(car):
    (car / "models" / "straight" / "pilot.safetensors").write_bytes(b"junk")
    with pytest.raises(AiccError, match="straight/pilot.safetensors is corrupt"):
        cut.drive(car, *FAST)


@pytest.mark.parametrize("name", ["mine.h5", "mine.tflite"])
def test_a_donkeycar_model_that_cannot_be_loaded_is_named(car, name):
    (car / "models" / name).write_bytes(b"junk")
    with pytest.raises(AiccError, match=name):
        cut.drive(car, "--headless", "--fast", "--model", f"models/{name}")


def test_myconfig_explains_every_key_with_its_default():
    text = (template_dir() / "myconfig.py").read_text()
    for field in dataclasses.fields(AiccConfig):
        shown = {"sim": True, "bundle": "reference"}.get(field.name, field.default)  # the template drives the simulator
        assert f"\n# {key_of(field)} = {json.dumps(shown) if isinstance(shown, str) else shown}\n" in text


def test_the_car_keeps_its_data_in_its_own_folder(car):
    import donkeycar as dk

    cfg = dk.load_config(str(car / "config.py"))
    assert Path(cfg.DATA_PATH) == car / "data"
    assert Path(cfg.CAR_PATH) == car
    assert cfg.WEB_CONTROL_PORT == 8887
