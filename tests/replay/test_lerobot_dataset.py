"""export-dataset --lerobot: what stands in the files, what is refused, and that lerobot itself reads them."""

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import cv2
import numpy as np
import pytest

from donkey_aicc import cli
from donkey_aicc.replay.lerobot_dataset import ACTION, CAMERA, libraries, write_dataset
from donkey_aicc.replay.pictures import picture_of
from donkey_aicc.replay.read_run import read_run
from tests.replay.recorded_tub import write_tub

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install -e '.[dev]'")
LEROBOT = "0.6.1"
WITH_IT = ["av<16", "huggingface-hub<2", "draccus", "einops", "termcolor", "dill", "xxhash", "multiprocess", "aiohttp"]


@pytest.fixture(scope="module")
def tubs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drives")
    return [write_tub(folder / "one"), write_tub(folder / "two")]


@pytest.fixture(scope="module")
def dataset(tubs, tmp_path_factory):
    out = tmp_path_factory.mktemp("dataset") / "laps"
    assert cli.main(["export-dataset", *map(str, tubs), "--lerobot", str(out), "--task", "stay in the lane"]) == 0
    return out


def info(dataset):
    return json.loads((dataset / "meta" / "info.json").read_text())


def rows(dataset, episode):
    _, parquet = libraries()
    return parquet.read_table(dataset / info(dataset)["data_path"].format(chunk_index=0, file_index=episode)).to_pydict()


def test_every_record_is_a_row_with_command_scores_and_labels(dataset, tubs):
    run = read_run(tubs[1])
    table = rows(dataset, 1)
    assert info(dataset)["total_frames"] == 2 * len(run) and table["index"] == list(range(len(run), 2 * len(run)))
    assert set(table) | {CAMERA} == set(info(dataset)["features"])
    np.testing.assert_array_equal(table[ACTION], np.stack([run.numbers["steering"], run.numbers["throttle"]], axis=1))
    for name in ("p_safe", "confidence", "rho", "delta"):
        np.testing.assert_array_equal(table[f"aicc.{name}"], run.numbers[name])
    np.testing.assert_array_equal(table["aicc.departed"], run.departed)
    ahead = run.horizons[1]
    np.testing.assert_array_equal(np.array(table["aicc.safe"])[:-ahead, 1], 1.0 - run.departed[ahead:])
    assert np.isnan(np.array(table["aicc.safe"])[-ahead:, 1]).all()  # nobody knows what came after the drive
    np.testing.assert_allclose(table["timestamp"], np.arange(len(run)) / info(dataset)["fps"], atol=1e-6)


def test_the_movie_holds_each_picture_in_its_place(dataset, tubs):
    run = read_run(tubs[0])
    video = cv2.VideoCapture(str(dataset / info(dataset)["video_path"].format(video_key=CAMERA, chunk_index=0, file_index=0)))
    assert video.get(cv2.CAP_PROP_FPS) == info(dataset)["fps"]
    for row in range(len(run)):
        read, found = video.read()
        assert read and np.abs(found[..., ::-1].astype(float) - picture_of(run, row)).mean() < 8
    assert not video.read()[0]


def test_statistics_pass_over_what_nobody_knows(dataset):
    statistics = json.loads((dataset / "meta" / "stats.json").read_text())
    assert set(statistics) == set(info(dataset)["features"])
    safe = np.concatenate([rows(dataset, episode)["aicc.safe"] for episode in (0, 1)])
    np.testing.assert_allclose(statistics["aicc.safe"]["mean"], np.nan_to_num(np.nanmean(safe, axis=0)), atol=1e-6)
    assert np.shape(statistics[CAMERA]["mean"]) == (3, 1, 1) and 0 < np.mean(statistics[CAMERA]["mean"]) < 1


def test_what_cannot_become_a_dataset_leaves_nothing(tubs, dataset, tmp_path, capsys, monkeypatch):
    def refused(*arguments):
        assert cli.main(["export-dataset", *map(str, arguments)]) == 2
        return capsys.readouterr().err

    assert "is there already" in refused(tubs[0], "--lerobot", dataset)
    assert "needs --bundle" in refused(tubs[0], "--lerobot", tmp_path / "out", "--grade", "light")
    small = write_tub(tmp_path / "small")
    for path in (small / "images").iterdir():
        cv2.imwrite(str(path), np.zeros((24, 32, 3), np.uint8))
    assert "must have one size" in refused(tubs[0], small, "--lerobot", tmp_path / "out")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "[lerobot]'" in refused(tubs[0], "--lerobot", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


def test_drives_of_different_rates_are_refused(tubs, tmp_path):
    from dataclasses import replace

    from donkey_aicc.errors import AiccError

    run = read_run(tubs[0])
    with pytest.raises(AiccError, match="must have the same rate"):
        list(write_dataset([run, replace(run, rate_hz=run.rate_hz / 2)], tmp_path, "x"))


READ = """
import json, sys
from lerobot.datasets.lerobot_dataset import LeRobotDataset
dataset = LeRobotDataset("us/laps", root=sys.argv[1], video_backend="pyav")
first, last = dataset[0], dataset[len(dataset) - 1]
print(json.dumps({
    "frames": len(dataset), "episodes": dataset.num_episodes, "task": last["task"],
    "picture": [round(float(last["observation.images.front"].mean()), 3), list(last["observation.images.front"].shape)],
    "action": last["action"].tolist(), "confidence": [round(x, 6) for x in last["aicc.confidence"].tolist()],
}))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 12), reason="lerobot needs Python 3.12")
def test_lerobot_itself_reads_it(dataset, tubs, tmp_path):
    """In an environment of its own that borrows torch and the rest from this one; needs a package index."""
    venv.create(tmp_path / "environment", with_pip=False)
    python = tmp_path / "environment" / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", "venv", vars=dict.fromkeys(("base", "platbase"), str(tmp_path / "environment"))))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile"]
    # Its own pins are older than our torch and numpy, so it comes without them.
    for what in (["--no-deps", f"lerobot=={LEROBOT}", "torchvision==0.28.0", "datasets<5"], WITH_IT):
        done = subprocess.run([*pip, *what], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no package index: {done.stderr[-200:]}")
    done = subprocess.run([python, "-c", READ, str(dataset)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    run = read_run(tubs[1])
    assert (said["frames"], said["episodes"], said["task"]) == (2 * len(run), 2, "stay in the lane")
    picture = picture_of(run, len(run) - 1)
    assert said["picture"][1] == [3, *picture.shape[:2]]
    assert said["picture"][0] == pytest.approx(picture.mean() / 255, abs=0.03)
    assert said["action"] == pytest.approx([float(run.numbers[name][-1]) for name in ("steering", "throttle")], abs=1e-6)
    assert said["confidence"] == pytest.approx(run.numbers["confidence"][-1].tolist(), abs=1e-5)
