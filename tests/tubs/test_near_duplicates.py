import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.load import load_drives
from donkey_aicc.tubs.near_duplicates import standing_frames
from tests.tubs.conftest import START_MS


def drive(parked):
    """A drive at 20 Hz past a rough wall, that stands still (but for noise) where `parked` is true."""
    rng = np.random.default_rng(0)
    wall = rng.integers(0, 256, (64, 600, 3)).astype(np.int16)
    place = 8 * np.cumsum(~np.asarray(parked)) % 500
    noisy = [wall[:, x : x + 64] + rng.integers(-2, 3, (64, 64, 3)) for x in place]
    return make_drive("tub", "s", np.clip(noisy, 0, 255).astype(np.uint8), np.zeros((len(place), 2)))


def test_a_parked_car_is_found_and_a_short_halt_is_driving():
    parked = np.zeros(120, dtype=bool)
    parked[40:80], parked[100:108] = True, True
    still = standing_frames([drive(parked)])[0]
    assert still[41:79].all() and not still[:39].any() and not still[81:].any()


def test_check_counts_and_training_leaves_out(make_tub, tmp_path, capsys):
    from donkey_aicc.cli import main

    made = make_tub(60)
    labels = tmp_path / "labels.csv"
    rows = [f"{i},{'' if i < 20 else i % 2},{int(i >= 20)},{0.9 if i == 30 else 1}" for i in range(60)]
    labels.write_text("\n".join(["index,safe,driving,certainty", *rows]))
    assert main(["check", str(made.path), "--labels", str(labels)]) == 0
    assert "40 frames; 20 parked or carried" in capsys.readouterr().out
    (kept,) = load_drives([made.path], labels_csv=labels, driving_only=True).drives
    assert kept.indices.tolist() == list(range(20, 60)) and kept.certainty[10] == pytest.approx(0.9)
    assert len(load_drives([made.path], labels_csv=labels).drives[0]) == 60


def test_labels_of_another_tub_are_refused(make_tub, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("index,safe\n900,1\n901,0\n")
    with pytest.raises(AiccError, match="is of another tub than .*: of its 2 indices none is usable there"):
        load_drives([make_tub(10).path], labels_csv=labels)


def test_labels_are_known_by_the_time_of_their_records(make_tub, tmp_path):
    """Every tub has a record 0: only its time tells whose label it is."""
    made, labels = make_tub(10), tmp_path / "labels.csv"
    times = [START_MS + 50 * i for i in range(10)]
    labels.write_text("index,safe,time_ms\n" + "".join(f"{i},1,{time}\n" for i, time in enumerate(times)))
    assert np.isfinite(load_drives([made.path], labels_csv=labels).drives[0].safe).all()
    times[3] += 5000
    labels.write_text("index,safe,time_ms\n" + "".join(f"{i},1,{time}\n" for i, time in enumerate(times)))
    loaded = load_drives([made.path], labels_csv=labels)
    assert np.flatnonzero(np.isnan(loaded.drives[0].safe)).tolist() == [3]
    assert "1 rows of the label file were made for a record of another time" in loaded.report.to_text()
    labels.write_text("index,safe,time_ms\n" + "".join(f"{i},1,{time + 10**9}\n" for i, time in enumerate(times)))
    with pytest.raises(AiccError, match="10 of 10 records there were taken at another time"):
        load_drives([made.path], labels_csv=labels)
    labels.write_text("tub,index,safe\nother,1,1\n")
    with pytest.raises(AiccError, match="it speaks of other, not of tub"):
        load_drives([made.path], labels_csv=labels)
