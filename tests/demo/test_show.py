"""The demo's words on made-up drives, and the whole demo once with a fault."""

import numpy as np
import pytest

from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.demo.in_words import mean_rows, story_of, told
from donkey_aicc.demo.show import FAULT, show, show_saved
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.resources import models_dir
from tests.replay.made_up_run import made_up_run


def test_the_story_of_a_saved_drive():
    calm = ["none"] * 60
    lost = made_up_run(np.linspace(0, 0.6, 60), ["off"] * 60, calm, fault="blur", fault_at=20)
    saved = made_up_run(
        np.full(60, 0.1), ["full"] * 30 + ["stopped"] * 30, ["none"] * 30 + ["danger"] * 30, fault="blur", fault_at=20
    )
    stories = [story_of(each, 0.35) for each in (lost, saved)]
    assert told(*stories, "blur:5") == [
        "without the governor the car leaves its lane 0.8 s after blur:5 begins and gets 25 cm beyond the edge",
        "with it the alarm comes after 0.5 s (why), the car brakes, stands after 295 cm and stays 25 cm inside",
    ]
    assert told(stories[1], stories[0], "blur:5")[1] == "with it there was no alarm"


def test_means_leave_out_what_the_scores_still_remember():
    run = made_up_run(np.full(400, 0.2), fault="dark", fault_at=100, fault_ends=200)
    rows = dict(mean_rows(run))
    assert list(rows) == ["nominal", "after", "dark"]
    np.testing.assert_allclose(rows["nominal"], [0.9, 0.95, 0.0, 0.0, 0.2], atol=1e-4)
    np.testing.assert_allclose(rows["dark"], [0.55, 0.95, 1.0, 1.0, 0.2], atol=1e-4)


@pytest.mark.slow
def test_the_governor_saves_a_drive(tmp_path):
    if load_calibrator(Bundle.load(models_dir() / "reference")).alarm is None:
        pytest.skip("the shipped bundle has no alarm yet")
    said = show_saved(tmp_path, "loop", 1, FAULT)
    assert "leaves its lane" in said[0] and "stays" in said[1] and (tmp_path / "saved.png").is_file()


def test_a_car_is_made_driven_and_replayed(tmp_path, capsys):
    summary = show(tmp_path / "out", laps=1, inject="dark:3@9s-13s", fault=None)
    assert len(summary["lap_times_s"]) == 1 and summary["wall_hits"] == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"drive.gif", "drive.png", "drive.html", "tub"}
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line[:4] in ("dark", "nomi")}
    assert float(rows["dark"][1]) < float(rows["nominal"][1]) - 0.05, "a darkened camera must make the monitor less sure"
    assert float(rows["dark"][3]) > float(rows["nominal"][3]), "a darkened camera must read as an anomaly"
