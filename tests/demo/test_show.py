"""The demo's pieces on a short drive, and the whole demo once with a fault."""

import numpy as np
from PIL import Image

from donkey_aicc.demo.movie import make_movie
from donkey_aicc.demo.recorded_drive import read_drive
from donkey_aicc.demo.show import show
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


def test_a_car_is_made_driven_and_drawn(tmp_path, capsys):
    summary = show(tmp_path / "out", laps=1, inject="dark:3@8s-12s")
    assert len(summary["lap_times_s"]) == 1 and summary["wall_hits"] == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"drive.gif", "drive.png", "timeline.png", "tub"}
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line[:4] in ("dark", "nomi")}
    assert float(rows["dark"][1]) < float(rows["nominal"][1]), "a darkened camera must make the monitor less sure"
