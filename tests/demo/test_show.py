"""The demo's pieces on a short drive, and the whole demo once with a fault."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from donkey_aicc import channels
from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.demo.recorded_drive import RecordedDrive, make_movie, read_drive
from donkey_aicc.demo.show import FAULT, show, show_saved
from donkey_aicc.demo.timelines import draw_pair, story_of, told
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.record_drives import DrivePlan, record
from donkey_aicc.simulator.tracks import make_track


def test_a_recorded_drive_becomes_a_movie(tmp_path):
    plan = DrivePlan(tmp_path / "tub", "oval", 3, 24)
    record([plan], model=None)
    drive = read_drive(plan.path)
    assert len(drive) == 24 and drive.image(5).shape == (120, 160, 3)
    assert np.isfinite(drive.xy).all() and np.isfinite(drive.cte_m).all()
    assert make_movie(drive, make_track("oval"), tmp_path / "drive.gif", every=4) == 6
    with Image.open(tmp_path / "drive.gif") as movie:
        assert movie.n_frames > 1


def test_the_story_of_a_saved_drive(tmp_path):
    def drive(cte, alarms, actions):
        count = len(cte)
        values = {channels.INJECT_PROTOCOL: [""] * 20 + ["blur"] * (count - 20), channels.ALARM: alarms, channels.ACTION: actions}
        values[channels.REASON] = ["why" if alarm == "danger" else "" for alarm in alarms]
        records = [SimpleNamespace(values={name: column[row] for name, column in values.items()}) for row in range(count)]
        xy = np.stack([np.linspace(0, 6, count), np.asarray(cte)], axis=1)
        return RecordedDrive(records, [None] * count, xy, np.asarray(cte))

    calm = ["none"] * 60
    lost = drive(np.linspace(0, 0.6, 60), calm, ["off"] * 60)
    saved = drive(np.full(60, 0.1), ["none"] * 30 + ["danger"] * 30, ["full"] * 30 + ["stopped"] * 30)
    stories = [story_of(each, 0.35, 20.0) for each in (lost, saved)]
    assert told(*stories, "blur:5") == [
        "without the governor the car leaves its lane 0.8 s after blur:5 begins and gets 25 cm beyond the edge",
        "with it the alarm comes after 0.5 s (why), the car is stopped and stays 25 cm inside",
    ]
    assert told(stories[1], stories[0], "blur:5")[1] == "with it there was no alarm"
    draw_pair(make_track("loop"), lost.xy, saved.xy, 20, "blur:5", tmp_path / "saved.png")
    assert (tmp_path / "saved.png").stat().st_size > 5_000


@pytest.mark.slow
def test_the_governor_saves_a_drive(tmp_path):
    if load_calibrator(Bundle.load(models_dir() / "reference")).alarm is None:
        pytest.skip("the shipped bundle has no alarm yet")
    said = show_saved(tmp_path, "loop", 1, FAULT)
    assert "leaves its lane" in said[0] and "stays" in said[1] and (tmp_path / "saved.png").is_file()


def test_a_car_is_made_driven_and_drawn(tmp_path, capsys):
    summary = show(tmp_path / "out", laps=1, inject="dark:3@9s-13s", fault=None)
    assert len(summary["lap_times_s"]) == 1 and summary["wall_hits"] == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"drive.gif", "drive.png", "timeline.png", "tub"}
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line[:4] in ("dark", "nomi")}
    assert float(rows["dark"][1]) < float(rows["nominal"][1]) - 0.05, "a darkened camera must make the monitor less sure"
    assert float(rows["dark"][3]) > float(rows["nominal"][3]), "a darkened camera must read as an anomaly"
