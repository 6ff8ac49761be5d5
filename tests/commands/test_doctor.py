"""doctor: what is wrong is named, with what to do. A missing donkeycar is one more problem, so these tests need it."""

import json
from types import SimpleNamespace

import donkeycar  # noqa: F401
import pytest

from donkey_aicc import cli
from donkey_aicc.car import doctor_checks
from donkey_aicc.car.doctor_checks import check_devices
from donkey_aicc.car.install_parts import create_car
from tests.car_under_test import write_settings
from tests.monitor_under_test import add_calibrator, make_bundle


def report(capsys, *arguments):
    code = cli.main(["doctor", "--json", *map(str, arguments)])
    found = json.loads(capsys.readouterr().out)
    return code, found["ready"], {check["name"]: check for check in found["checks"]}


def test_all_well(tmp_path, capsys):
    bundle = make_bundle(tmp_path / "bundle")
    add_calibrator(bundle)
    code, ready, checks = report(capsys, "--bundle", bundle, "--car", tmp_path, "--hz", "0.001")  # slow enough for any machine
    assert (code, ready) == (0, True) and checks["grade at start"]["found"] == "full"
    assert checks["bundle"]["found"].endswith("bundle, grades full") and not checks["bundle"]["advice"]


def test_what_is_wrong_is_told_with_what_to_do(tmp_path, capsys):
    bundle = make_bundle(tmp_path / "bundle")
    code, ready, checks = report(capsys, "--bundle", bundle, "--car", tmp_path / "nowhere", "--hz", "100000")
    assert (code, ready) == (1, False)
    assert "donkey-aicc calibrate" in checks["bundle"]["advice"] and "--car" in checks["car"]["advice"]
    assert "DRIVE_LOOP_HZ" in checks["grade at start"]["advice"]


def test_no_bundle(tmp_path, capsys):
    code, ready, checks = report(capsys, "--bundle", tmp_path / "none", "--car", tmp_path)
    assert (code, ready) == (1, False) and "no bundle at" in checks["bundle"]["found"]


@pytest.fixture
def car(tmp_path):
    create_car(tmp_path / "car")
    write_settings(tmp_path / "car", DRIVE_LOOP_HZ=0.001)  # slow enough for any machine
    return tmp_path / "car"


def test_the_settings_of_the_car_are_looked_at(car, capsys):
    write_settings(car, AICC_BUNDLE=None, DATA_PATH=str(car / "tubs"))
    code, _, checks = report(capsys, "--car", car)
    assert code == 0 and "0.001 loops a second" in checks["car"]["found"]
    assert "learning mode" in checks["bundle"]["found"] and checks["camera"]["found"] == "the simulator's"
    assert str(car) in checks["tub folder"]["found"]
    assert checks["manage.py"]["found"] == "holds our lines"
    (car / "manage.py").write_text("import nowhere_at_all\n")
    code, _, checks = report(capsys, "--car", car)
    assert code == 1 and "does not call the monitor" in checks["manage.py"]["found"]
    assert (
        "donkey-aicc install" in checks["manage.py"]["advice"] and "pip install nowhere_at_all" in checks["manage.py"]["advice"]
    )


@pytest.mark.parametrize(
    ("settings", "check", "told"),
    [
        ({"AICC_BUNDEL": "x"}, "car", "unknown setting AICC_BUNDEL"),
        ({"DRIVE_LOOP_HZ": 0}, "car", "DRIVE_LOOP_HZ must be a number > 0"),
        ({"AICC_BUNDLE": "nowhere"}, "bundle", "no bundle at"),
        ({"AICC_SIM": False}, "bundle", "was trained in the embedded simulator, and this is a real car"),
        ({"AICC_SIM": False, "DONKEY_GYM": True}, "bundle", "and this is the Unity simulator, generated_track"),
        ({"AICC_SIM": False, "AICC_BUNDLE": None, "CAMERA_TYPE": "OAKD"}, "camera", "needs the package depthai"),
        ({"DATA_PATH": "/proc/no_tubs_here"}, "tub folder", "make it writable"),
    ],
)
def test_each_mistake_is_one_problem(car, capsys, settings, check, told):
    write_settings(car, **settings)
    code, ready, checks = report(capsys, "--car", car)
    assert (code, ready, checks[check]["ok"]) == (1, False, False)
    assert told in checks[check]["found"] + checks[check]["advice"]


def test_a_key_that_the_settings_lack(car, capsys):
    with (car / "config.py").open("a") as file:
        file.write("del DATA_PATH\n")
    code, _, checks = report(capsys, "--car", car)
    assert code == 1 and "lack DATA_PATH" in checks["car"]["found"]


def test_a_settings_file_that_is_no_python(car, capsys):
    with (car / "myconfig.py").open("a") as file:
        file.write("DRIVE_LOOP_HZ = = 20\n")
    code, _, checks = report(capsys, "--car", car, "--bundle", car / "none")
    assert code == 1 and "SyntaxError" in checks["car"]["found"] and "myconfig.py" in checks["car"]["advice"]


def test_devices_that_the_settings_ask_for():
    class Cfg:
        CAMERA_TYPE, USE_JOYSTICK_AS_DEFAULT = "WEBCAM", True

    camera, controller = check_devices(Cfg, False, lambda pattern: [])
    assert not camera.ok and not controller.ok and "WEBCAM" in camera.advice and "JOYSTICK" in controller.advice
    camera, controller = check_devices(Cfg, False, lambda pattern: [pattern.replace("*", "0")])
    assert (camera.ok, camera.found, controller.found) == (True, "/dev/video0", "/dev/input/js0")


def test_two_opencvs_in_one_folder_are_told(monkeypatch):
    found = {"opencv-contrib-python": "4.9.0", "opencv-python-headless": "4.11.0"}
    listed = lambda name: [SimpleNamespace(version=found[name])] if name in found else []  # noqa: E731
    monkeypatch.setattr(doctor_checks.importlib.metadata, "distributions", listed)
    check = doctor_checks.check_versions()
    assert not check.ok and "opencv-python-headless 4.11.0 and opencv-contrib-python 4.9.0 write into one folder" in check.advice
    del found["opencv-contrib-python"]
    assert doctor_checks.check_versions().ok
