"""A drive without a record leaves no tub behind, and nothing that holds anything is ever taken away."""

import subprocess
import sys

import pytest
from donkeycar.parts.tub_v2 import Tub

from donkey_aicc.car.start_checks import clear_empty_tub, is_empty_tub

DRIVE = """
import sys
from types import SimpleNamespace
from donkeycar.parts.tub_v2 import Tub
from donkey_aicc.car.start_checks import leave_no_empty_tub
data, below, records = sys.argv[1], sys.argv[2], int(sys.argv[3])
leave_no_empty_tub(SimpleNamespace(DATA_PATH=data))
tub = Tub(f"{data}/{below}", inputs=["user/mode"], types=["str"])
for _ in range(records):
    tub.write_record({"user/mode": "user"})
tub.close()
"""


@pytest.mark.parametrize("below", [".", "tub_2"])
@pytest.mark.parametrize("records", [0, 1])
def test_only_an_empty_tub_of_this_drive_goes(tmp_path, below, records):
    Tub(str(tmp_path / "tub_1"), inputs=["user/mode"], types=["str"]).close()  # of an earlier drive: not ours to judge
    command = [sys.executable, "-c", DRIVE, str(tmp_path), below, str(records)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert ("Nothing was recorded" in said) == (records == 0)
    assert (tmp_path / below / "manifest.json").exists() == (records == 1)
    assert (tmp_path / "tub_1" / "manifest.json").exists()
    assert tmp_path.is_dir()


def test_what_is_no_empty_tub_stays(tmp_path):
    assert not is_empty_tub(tmp_path)
    Tub(str(tmp_path), inputs=["user/mode"], types=["str"]).close()
    assert is_empty_tub(tmp_path)
    picture = tmp_path / "images" / "0_cam_image_array_.jpg"
    picture.write_bytes(b"x")
    assert not is_empty_tub(tmp_path)
    picture.unlink()
    (tmp_path / "notes.txt").write_text("mine")
    clear_empty_tub(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
