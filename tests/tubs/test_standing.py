import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.load import load_drives
from donkey_aicc.tubs.standing import standing_frames


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
    (kept,) = load_drives([made.path], labels_csv=labels, driving_only=True).sequences
    assert kept.indices.tolist() == list(range(20, 60)) and kept.certainty[10] == pytest.approx(0.9)
    assert len(load_drives([made.path], labels_csv=labels).sequences[0]) == 60


def test_labels_of_another_tub_are_refused(make_tub, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("index,safe\n900,1\n901,0\n")
    with pytest.raises(AiccError, match="is of another tub: none of its 2 indices"):
        load_drives([make_tub(10).path], labels_csv=labels)
