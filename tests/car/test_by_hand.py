"""docs/parts.md "By hand": its blocks, put into donkeycar's stock complete template as the page says, and driven."""

import importlib.util
import re

import donkeycar as dk
import pytest
from donkeycar.management.base import CreateCar

from donkey_aicc.resources import models_dir
from tests.car_under_test import free_port
from tests.page_blocks import ROOT, all_blocks

PLACE = "    tub_writer = TubWriter("
MOCK = {"CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK", "USE_JOYSTICK_AS_DEFAULT": False, "MAX_LOOPS": 30}


@pytest.fixture
def vehicles(monkeypatch):
    """Those that a program makes."""
    made = []

    class Seen(dk.vehicle.Vehicle):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setattr(dk.vehicle, "Vehicle", Seen)
    return made


def test_the_page_makes_a_monitor_in_the_stock_complete_loop(tmp_path, monkeypatch, vehicles):
    page = (ROOT / "docs/parts.md").read_text(encoding="utf-8").split("## By hand")[1].split("\n## ")[0]
    ours = [block for block in all_blocks() if block.page == "docs/parts.md" and block.kind == "python"]
    blocks = [block.text for block in ours if block.text in page]
    assert len(blocks) == 2 and PLACE.strip() in page
    CreateCar().create_car(str(tmp_path / "car"), template="complete")
    (tmp_path / "car" / "models").mkdir(exist_ok=True)
    (tmp_path / "car" / "models" / "mine").symlink_to(models_dir() / "reference")
    manage = tmp_path / "car" / "manage.py"
    added = "".join(f"    {line}\n" if line else "\n" for block in blocks for line in block.splitlines())
    text = manage.read_text()
    assert text.count(PLACE) == 1
    manage.write_text(text.replace(PLACE, added + PLACE))
    monkeypatch.chdir(tmp_path / "car")

    spec = importlib.util.spec_from_file_location("stock_complete", manage)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    cfg = dk.load_config(str(tmp_path / "car" / "config.py"))
    for key, value in {**MOCK, "WEB_CONTROL_PORT": free_port()}.items():
        setattr(cfg, key, value)
    program.drive(cfg, model_path=None, use_joystick=False, model_type=None, camera_type="single", meta=[])

    (vehicle,) = vehicles
    status, confidence = vehicle.mem["aicc/status"], vehicle.mem["aicc/confidence"]
    assert len(confidence) == 11 and 0.0 <= min(confidence) == vehicle.mem["aicc/confidence_min"] <= 1.0
    assert re.match("warming up|camera frozen|scores stale", status), status
    writer = next(entry["part"] for entry in vehicle.parts if type(entry["part"]).__name__ == "TubWriter")
    assert "aicc/confidence_min" in writer.tub.manifest.inputs
