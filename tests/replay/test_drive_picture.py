"""A whole drive as one picture: what is shaded, what is averaged, and that every kind of drive can be drawn."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc import cli
from donkey_aicc.errors import AiccError
from donkey_aicc.replay.drive_picture import certainty, check_picture_path, faults_of, write_picture
from donkey_aicc.replay.read_run import read_run
from tests.replay.made_up_run import made_up_run
from tests.replay.recorded_tub import write_tub, write_v1_tub


def test_certainty_counts_both_ways_and_skips_what_is_unknown():
    run = made_up_run(np.zeros(40))
    run.numbers["confidence"][:4] = np.nan
    assert np.isnan(certainty(run, "confidence")[:4]).all()
    np.testing.assert_allclose(certainty(run, "confidence")[4:20], 0.9)
    np.testing.assert_allclose(certainty(run, "confidence")[20:], 0.55)
    assert np.isnan(certainty(run, "unheard of")).all()


def test_a_fault_goes_on_where_the_car_was_put_back_and_ends_after_a_longer_pause():
    run = made_up_run(np.zeros(200))
    at = np.arange(200)
    names = np.where((at < 10) | ((at >= 40) & (at < 50)) | (at >= 150), "blur", "")
    found = faults_of(replace(run, words={"inject_protocol": names}))
    assert found == [("blur", 0.0, 2.45), ("blur", 7.5, 9.95)]


def test_every_kind_of_drive_becomes_a_picture(tmp_path):
    bare = read_run(write_v1_tub(tmp_path / "old"))
    sizes = []
    for number, runs in enumerate(([made_up_run(np.zeros(60))], [made_up_run(np.zeros(60))] * 2, [bare])):
        write_picture(runs, tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")
        sizes.append((tmp_path / f"{number}.png").stat().st_size)
    assert sizes[2] < sizes[0] != sizes[1]
    with pytest.raises(AiccError, match=r"--picture must end in .png"):
        check_picture_path("drive.jpg")


def test_the_command_writes_it(tmp_path, capsys):
    tub = write_tub(tmp_path / "tub")
    assert cli.main(["replay", str(tub), "--picture", str(tmp_path / "drive.png")]) == 0
    assert "wrote" in capsys.readouterr().out and (tmp_path / "drive.png").stat().st_size > 20_000
