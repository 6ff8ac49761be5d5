"""The power goes while the tub is written: what was recorded before can be read, and the next start says what it found."""

import numpy as np
import pytest
from donkeycar.parts.tub_v2 import TubWriter

from donkey_aicc.car.start_checks import say_last_drive, tub_damage
from donkey_aicc.parts.guarded_tub import GuardedTub
from donkey_aicc.tubs.load import load_drives

RECORDS = 12
INPUTS, TYPES = ["cam/image_array", "user/angle", "user/throttle", "pos/cte"], ["image_array", "float", "float", "float"]
LAST = ["catalog_0.catalog", "catalog_0.catalog_manifest", "manifest.json", f"images/{RECORDS - 1}_cam_image_array_.jpg"]


def record(tub, close=True):
    writer = GuardedTub(TubWriter(str(tub), inputs=INPUTS, types=TYPES))
    rng = np.random.default_rng(0)
    for row in range(RECORDS):
        writer.run(rng.integers(0, 255, (12, 16, 3)).astype(np.uint8), 0.1, 0.2, 0.01 * row)
    if close:
        writer.shutdown()


def kept(tub, cache):
    loaded = load_drives([tub], cache_dir=cache, min_length=1, max_gap_s=5.0)
    return {int(index) for drive in loaded.drives for index in drive.indices}


@pytest.mark.parametrize("close", [True, False])
def test_a_tub_without_damage_is_not_spoken_of(tmp_path, capsys, close):
    record(tmp_path / "tub_1", close)
    say_last_drive(tmp_path)
    assert tub_damage(tmp_path / "tub_1") == "" == capsys.readouterr().out
    assert kept(tmp_path / "tub_1", tmp_path / "cache") == set(range(RECORDS))


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("zeros", [False, True], ids=["cut", "zeros"])
def test_only_what_was_not_written_is_lost(tmp_path, capsys, name, share, zeros):
    tub = tmp_path / "tub_1"
    record(tub)
    whole = (tub / name).read_bytes()
    left = whole[: int(share * len(whole))]
    (tub / name).write_bytes(left + bytes(len(whole) - len(left)) if zeros else left)
    say_last_drive(tmp_path)
    said = capsys.readouterr().out
    if left.rstrip() != whole.rstrip():  # more than a line's end is missing
        assert f"The last drive, {tub}, did not end properly: " in said and len(said) < 500
    before = left.count(b"\n") if name.endswith(".catalog") else RECORDS - 1
    if before:
        assert set(range(before)) <= kept(tub, tmp_path / "cache")
