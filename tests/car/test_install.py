"""Our call goes into a standard manage.py, and out again, without touching anything else."""

import dataclasses
import io
import signal
import subprocess
import sys

import pytest

from donkey_aicc import channels, cli
from donkey_aicc.car.config import AiccConfig, key_of
from donkey_aicc.car.install_parts import with_call, without_call
from donkey_aicc.errors import AiccError
from tests.car_under_test import free_port, read_tub, write_settings
from tests.monitor_under_test import add_calibrator, make_bundle
from tests.page_under_test import Page

SMALL = b"""import donkeycar as dk

def drive(cfg):
    V = dk.vehicle.Vehicle()
    add_camera(V, cfg, "single")
    add_drivetrain(V, cfg)
    inputs, types = ["cam/image_array"], ["image_array"]
    writer = TubWriter(cfg.DATA_PATH, inputs=inputs, types=types)
    V.add(writer, inputs=inputs)
"""


@pytest.fixture
def donkey_car(tmp_path):
    """What `donkey createcar` makes."""
    from donkeycar.management.base import CreateCar

    CreateCar().create_car(str(tmp_path / "mycar"))
    return tmp_path / "mycar"


def install(car, *options):
    return cli.main(["install", str(car), *options])


def test_install_twice_and_undo(donkey_car, capsys):
    file = donkey_car / "manage.py"
    before, mode = file.read_bytes(), file.stat().st_mode
    assert install(donkey_car, "--yes") == 0
    shown = capsys.readouterr().out
    installed = file.read_text()
    assert installed.count("aicc.add_aicc(") == shown.count("aicc.add_aicc(") == 1
    assert len(installed.splitlines()) == len(before.splitlines()) + 4
    assert file.stat().st_mode == mode
    assert (donkey_car / "manage.py.before-aicc").read_bytes() == before

    assert install(donkey_car, "--yes") == 0
    assert "already has our call" in capsys.readouterr().out
    assert file.read_text() == installed

    assert install(donkey_car, "--undo", "--yes") == 0
    assert file.read_bytes() == before
    assert file.stat().st_mode == mode
    assert not (donkey_car / "manage.py.before-aicc").exists()
    assert install(donkey_car, "--undo", "--yes") == 0
    assert "has none of our lines" in capsys.readouterr().out


def test_the_call_stands_right_before_the_tub(donkey_car):
    lines = [line.strip() for line in with_call((donkey_car / "manage.py").read_bytes()).decode().splitlines()]

    def at(start):
        return next(number for number, line in enumerate(lines) if line.startswith(start))

    assert at("inputs, types = aicc.add_aicc(V, cfg, inputs, types)") == at("tub_writer = TubWriter(") - 1


def test_nobody_to_ask_changes_nothing(donkey_car, monkeypatch, capsys):
    before = (donkey_car / "manage.py").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert install(donkey_car) == 2
    assert "add --yes" in capsys.readouterr().err
    assert (donkey_car / "manage.py").read_bytes() == before


def test_later_changes_of_the_user_survive_undo(donkey_car):
    file = donkey_car / "manage.py"
    install(donkey_car, "--yes")
    file.write_text(file.read_text() + "\n# my own line\n")
    install(donkey_car, "--undo", "--yes")
    assert file.read_text().endswith("# my own line\n")
    assert "aicc" not in file.read_text()
    backup = donkey_car / "manage.py.before-aicc"
    first = backup.read_bytes()
    install(donkey_car, "--yes")
    assert backup.read_bytes() == first
    assert (donkey_car / "manage.py.before-aicc.2").exists()


def stock_car(folder, template):
    from donkeycar.management.base import CreateCar

    CreateCar().create_car(str(folder), template=template)
    return folder / "manage.py"


@pytest.mark.parametrize(
    ("template", "call", "before"),
    [
        ("basic", "inputs, types = aicc.add_aicc(car, cfg, inputs, types)", "if model_path is None or cfg.RECORD_DURING_AI:"),
        ("simulator", "inputs, types = aicc.add_aicc(V, cfg, inputs, types)", "tub_writer = TubWriter("),
        ("cv_control", "inputs, types = aicc.add_aicc(V, cfg, inputs, types)", "tub_writer = TubWriter("),
        ("path_follow", "aicc.add_aicc(V, cfg)", "V.start("),
    ],
)
def test_other_templates_of_donkeycar_have_a_place_too(tmp_path, template, call, before):
    lines = with_call(stock_car(tmp_path, template).read_bytes()).decode().splitlines()
    (number,) = (number for number, line in enumerate(lines) if call in line)
    assert lines[number + 1].strip().startswith(before)


def test_a_template_without_a_camera_is_refused_and_told_which_to_use(tmp_path, capsys):
    file = stock_car(tmp_path, "arduino_drive")
    before = file.read_bytes()
    assert install(tmp_path, "--yes") == 2
    complaint = capsys.readouterr().err
    assert "no function makes a Vehicle() and adds a camera" in complaint
    assert "one of the templates complete, basic" in complaint
    assert file.read_bytes() == before
    assert not (tmp_path / "manage.py.before-aicc").exists()


def test_settings_of_ours_are_in_the_cars_own_myconfig(donkey_car, capsys):
    file = donkey_car / "myconfig.py"
    before = file.read_text()
    assert install(donkey_car, "--yes", "--bundle", "reference") == 0
    said = capsys.readouterr().out
    assert "WARNING: the bundle reference was trained in the embedded simulator" in said
    assert (
        "our AICC_* settings as comments but for\n+AICC_BUNDLE = 'reference'\n" in said and "+# AICC_SCORER_THREADS" not in said
    )
    text = file.read_text()
    keys = {f"# {key_of(field)} = " for field in dataclasses.fields(AiccConfig)} - {"# AICC_BUNDLE = "}
    assert {key for key in keys if f"\n{key}" not in text} == {key for key in keys if key.startswith("# AICC_SIM")}
    assert "\nAICC_BUNDLE = 'reference'\n" in text
    file.write_text(text.replace("# AICC_INJECT_SEED = 0", "AICC_INJECT_SEED = 7"))
    assert install(donkey_car, "--yes", "--bundle", "models/nowhere") == 2
    assert "no bundle at models/nowhere" in capsys.readouterr().err
    assert install(donkey_car, "--yes") == 0
    assert "AICC_BUNDLE = 'reference'" in file.read_text()
    assert "AICC_INJECT_SEED = 7" in file.read_text()
    assert install(donkey_car, "--undo", "--yes") == 0
    assert file.read_text() == before


def test_without_a_bundle_it_says_what_that_means(donkey_car, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    answers = iter(["", "y"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    assert install(donkey_car) == 0
    assert "the monitor runs in learning mode" in capsys.readouterr().out
    assert "\n# AICC_BUNDLE = None\n" in (donkey_car / "myconfig.py").read_text()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (b'    add_camera(V, cfg, "single")\n', b"", "no function makes a Vehicle() and adds a camera"),
        (b"    writer =", b"    TubWriter(inputs=inputs, types=types)\n    writer =", "TubWriter(...) appears 2 times"),
        (b"    writer = TubWriter", b"    V.start()\n    V.start()\n    other", "exactly one start of the vehicle, but 2"),
        (b"def drive(cfg)", b"def drive()", "drive takes no settings"),
        (b"types=types", b"types=[]", "TubWriter(..., inputs=..., types=...) is missing"),
        (
            b"    add_drivetrain(V, cfg)\n",
            b"def more(cfg):\n    V = Vehicle()\n    add_camera(V, cfg)\n",
            "drive and more each make",
        ),
        (b"    writer =", b"    x = 1; writer =", "more than one statement"),
        (b"types=types)", b"types=types); x = 1", "more than one statement"),
        (b"import", b"imp ort", "is not valid Python"),
        (b"V = dk.vehicle.Vehicle()", b"V = 1; aicc.add_aicc(V)", "add_aicc in lines without our mark"),
    ],
)
def test_an_unexpected_file_is_refused(old, new, complaint):
    assert with_call(SMALL) != SMALL
    with pytest.raises(AiccError) as error:
        with_call(SMALL.replace(old, new, 1))
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "source",
    [
        SMALL,
        SMALL.replace(b"\n", b"\r\n"),
        SMALL.replace(b"    ", b"\t"),
        b"\xef\xbb\xbf" + SMALL,
        b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + SMALL,
        SMALL.replace(b"def drive", b"\x0c\ndef drive"),
        SMALL.replace(b"V, cfg", b"car, settings").replace(b"V =", b"car =").rstrip(b"\n"),
        SMALL.replace(b"    writer = TubWriter(cfg.DATA_PATH, inputs=inputs, types=types)", b"    V.start()"),
        SMALL.replace(b"import donkeycar as dk\n", b""),
        SMALL.replace(b"TubWriter(cfg.DATA_PATH, ", b"TubWriter(\n        cfg.DATA_PATH, ").replace(b"types)", b"types)  # ink"),
    ],
)
def test_everything_else_stays_byte_for_byte(source):
    installed = with_call(source)
    assert len(installed) > len(source)
    assert installed.count(b"\r\n") in (0, installed.count(b"\n"))
    assert with_call(installed) == installed
    assert without_call(installed) == source


def test_calls_without_our_mark_are_left_to_the_user():
    with pytest.raises(AiccError, match="add_aicc in lines without our mark"):
        without_call(b"aicc.add_aicc(V, cfg, inputs, types)\n")


def test_a_folder_without_manage_py_is_named(tmp_path, capsys):
    assert install(tmp_path, "--yes") == 2
    assert "no manage.py at" in capsys.readouterr().err


def mock_car(car, **settings):
    """No hardware; returns the port of the web page."""
    port = free_port()
    mock = {"CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK", "USE_JOYSTICK_AS_DEFAULT": False, "WEB_CONTROL_PORT": port}
    write_settings(car, **mock, **settings)
    return port


def test_the_installed_car_drives_200_loops_with_a_mock_camera(donkey_car):
    async def record(page):
        await page.send(recording=True, throttle=0.2, angle=0.1)

    install(donkey_car, "--yes")
    port = mock_car(donkey_car, MAX_LOOPS=200, DRIVE_LOOP_HZ=60)
    process = _start(donkey_car)
    try:
        Page(donkey_car, port).play(record)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Vehicle executed 200 steps" in err, err
    assert process.returncode == 0
    records, manifest = read_tub(donkey_car / "data")
    assert records
    assert {channels.IMAGE, "user/angle", "steering", "throttle"} <= set(records[0])
    assert {"steering", "throttle"} <= set(manifest.inputs)


def test_the_installed_car_injects_monitors_and_marks(donkey_car, tmp_path):
    async def story(page):
        await page.send(recording=True, drive_mode="local")
        for button in ("w1", "w1", "w2"):  # arms, darkens, marks
            await page.click(button)
        await page.send(drive_mode="user")

    install(donkey_car, "--yes")
    add_calibrator(make_bundle(tmp_path / "bundle"))
    port = mock_car(donkey_car, RECORD_DURING_AI=True, AICC_INJECT_BUTTONS=True, AICC_INJECT_ARM_S=600, AICC_MARK_BUTTON="w2")
    write_settings(donkey_car, AICC_BUNDLE=str(tmp_path / "bundle"))
    process = _start(donkey_car)
    try:
        Page(donkey_car, port).play(story)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in err, err
    records, _ = read_tub(donkey_car / "data")
    told = [(record["user/mode"], record[channels.INJECT_PROTOCOL], record[channels.UNSAFE_MARK]) for record in records]
    wanted = [("local", "", False), ("local", "dark", False), ("local", "dark", True), ("user", "", True)]
    assert [state for state in dict.fromkeys(told) if told.count(state) > 1] == wanted
    assert {record[channels.STATUS] for record in records} <= {
        "warming up", "ok", "camera frozen", "scores stale", "unusual picture", "unusual driving", "unusual picture and driving"
    }  # fmt: skip
    assert all(len(record[channels.CONFIDENCE]) == 2 for record in records)


def test_a_mistake_in_an_installed_car_is_one_line_and_exit_code_2(donkey_car):
    install(donkey_car, "--yes")
    write_settings(donkey_car, CAMERA_TYPE="MOCK", DRIVE_TRAIN_TYPE="MOCK", AICC_SIMM=True)
    process = _start(donkey_car)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "donkey_aicc: unknown setting AICC_SIMM. Did you mean AICC_SIM" in err
    assert "Traceback" not in err


def _start(car):
    """As from a terminal: a script that runs the tests in the background hands an ignored Ctrl-C down to them."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "drive"],
        cwd=car,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
