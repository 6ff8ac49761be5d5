import numpy as np
import pytest
from donkeycar.parts.tub_v2 import Tub

from donkey_aicc.cli import main
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.nets.trained_nets import save_bundle
from donkey_aicc.scoring.score_table import HORIZONS, ScoreTable
from tests.scoring.conftest import made_up_drive

FRAMES = 8


@pytest.fixture
def tub(tmp_path):
    inputs = ["cam/image_array", "user/angle", "user/throttle", "user/mode", "pos/cte"]
    tub = Tub(str(tmp_path / "tub"), inputs, ["image_array", "float", "float", "str", "float"])
    drive = made_up_drive(FRAMES)
    for image, (steering, throttle), cte in zip(drive.images, drive.actions, np.linspace(0, 0.7, FRAMES), strict=True):
        values = [image, float(steering), float(throttle), "user", float(cte)]
        tub.write_record(dict(zip(inputs, values, strict=True)))
    tub.close()
    return tmp_path / "tub"


@pytest.fixture
def folder(nets, bundle, tmp_path):
    stats = bundle.action_stats.to_json()
    save_bundle(tmp_path / "mine", nets, Manifest(horizons=list(HORIZONS), action_stats=stats, tau=0.35))
    return tmp_path / "mine"


def score(tub, folder, out, *more):
    fast = ["--workers", "1", "--cache-dir", str(out.parent / "cache")]
    return main(["score", str(tub), "--bundle", str(folder), "--out", str(out), *fast, *more])


def test_a_tub_becomes_a_score_table(tub, folder, tmp_path, capsys):
    assert score(tub, folder, tmp_path / "scores.npz") == 0
    assert f"{FRAMES} frames of 1 sequences" in capsys.readouterr().out
    table = ScoreTable.load(tmp_path / "scores.npz")
    assert table.index.tolist() == list(range(FRAMES))
    # the bundle's tau of 0.35, one step ahead of cte = 0, 0.1, ... 0.7
    np.testing.assert_array_equal(table.labels[:, 0], [1, 1, 1, 0, 0, 0, 0, np.nan])


def test_labels_can_be_set_anew(tub, folder, tmp_path):
    assert score(tub, folder, tmp_path / "scores.npz", "--tau", "0.15") == 0
    np.testing.assert_array_equal(ScoreTable.load(tmp_path / "scores.npz").labels[:-1, 0], [1, 0, 0, 0, 0, 0, 0])


def test_a_wrong_file_name_is_refused_before_any_work(tub, tmp_path, capsys):
    assert score(tub, tmp_path / "no bundle", tmp_path / "scores.csv") == 2
    assert "score file must end in .npz" in capsys.readouterr().err
