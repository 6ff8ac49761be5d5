"""The programs of examples/ run on the shipped bundle, each in seconds (train_sac.py learns for minutes: tests/gym)."""

import runpy
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from donkey_aicc import plugins
from donkey_aicc.tubs.load import load_drives

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SEVEN = ("score_pictures", "calibrate_arrays", "own_manage", "own_predictor", "own_fault", "own_calibrator", "own_score")


@pytest.fixture
def run(monkeypatch, capfd, own_registries):
    """Runs an example as a program and returns what it printed."""

    def start(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        try:
            runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        except SystemExit as end:
            assert not end.code
        return capfd.readouterr().out

    return start


def test_there_are_these_seven_and_they_are_short():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SEVEN, "train_sac"}
    for name in SEVEN:
        text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").split('"""', 2)[2]
        assert 10 <= sum(bool(line.strip()) for line in text.splitlines()) <= 32, name


def test_score_a_folder_of_pictures(run, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(104):
        cv2.imwrite(str(tmp_path / f"{number:04d}.jpg"), rng.integers(60, 190, (120, 160, 3), dtype=np.uint8))
    np.savetxt(tmp_path / "commands.csv", np.full((104, 2), 0.2), delimiter=",")
    said = run("score_pictures", tmp_path, tmp_path / "commands.csv")
    assert "104 frames, 5 with the context" in said and "danger" in said, "noise is no track"


def test_calibrate_arrays(run):
    raw, calibrated = (float(line.rsplit(" ", 1)[1]) for line in run("calibrate_arrays").splitlines())
    assert calibrated < raw - 0.03


def test_own_manage(run):
    said = run("own_manage").splitlines()
    assert sum(line.startswith("warming up") for line in said) > 20


def test_own_predictor(run):
    assert run("own_predictor").count("no calibrator, grade light") == 3


def test_own_fault(run, tmp_path):
    run("own_fault", tmp_path / "rain")
    drives = load_drives([tmp_path / "rain"], cache_dir=tmp_path / "cache").drives
    assert {str(each) for drive in drives for each in drive.protocol} == {"", "rain"}


def test_own_calibrator(run):
    assert abs(float(run("own_calibrator").split()[1].rstrip(",")) - 0.6) < 0.1


def test_own_score(run):
    assert "with the sun in the picture: 0.31" in run("own_score")


@pytest.mark.parametrize("name", [name for name in SEVEN if name.startswith("own_") and name != "own_manage"])
def test_they_are_plugins(name, monkeypatch, own_registries):
    """Named in AICC_PLUGINS, the file registers what it holds and runs nothing else."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setenv("AICC_PLUGINS", str(EXAMPLES / f"{name}.py"))
    for each in own_registries:  # what a test before this one in the same process has left
        each.pop("mine", None)
    sizes = [len(each) for each in own_registries]
    assert plugins.load_plugins()[str(EXAMPLES / f"{name}.py")] == "AICC_PLUGINS: loaded"
    assert sum(len(each) for each in own_registries) == sum(sizes) + 1
