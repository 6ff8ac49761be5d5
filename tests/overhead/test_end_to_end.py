"""From an overhead video of a simulated drive to labels, against the simulator's own truth.

The video has everything at once: noise, a shade that wanders and light that swings, a second without sight of the car, two other
things of the marker's colour, 5 % lens distortion, clicks that are good to half a pixel.
"""

import hashlib
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from donkey_aicc.cli import main
from donkey_aicc.tubs.labels import read_label_csv, safe_from_cte
from donkey_aicc.tubs.load import load_drives
from tests.overhead.scene import record_scene

FRAME_S = 0.05


def contents(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


def label_and_check(scene, folder: Path) -> dict:
    """Run both commands, hold the labels against the truth, return the report."""
    (folder / "inputs.json").write_text(json.dumps(scene.setup))
    setup, out = str(folder / "setup.json"), str(folder / "labels.csv")
    assert (
        main(["overhead", "calibrate", str(scene.video), "--setup", setup, "--headless-json", str(folder / "inputs.json")]) == 0
    )
    before = contents(scene.tub)
    assert main(["overhead", "label", str(scene.video), "--setup", setup, "--tub", str(scene.tub), "--out", out]) == 0
    assert contents(scene.tub) == before

    cte, *_ = read_label_csv(out, "tub", one_tub=True).lookup(np.arange(len(scene.cte_m)))
    known = np.isfinite(cte)
    error = np.abs(cte - scene.cte_m)[known]
    assert np.median(error) < 0.01
    assert np.quantile(error, 0.95) < 0.03
    tau = float(np.median(np.abs(scene.cte_m)))
    agreement = np.mean(safe_from_cte(cte[known], tau) == safe_from_cte(scene.cte_m[known], tau))
    assert agreement > 0.98
    assert known[scene.hidden].mean() <= 0.1  # its first and last moment may be seen
    assert known[~scene.hidden].mean() > 0.95

    report = json.loads((folder / "labels_report" / "report.json").read_text())
    assert abs(report["alignment"]["offset_s"] - scene.offset_s) < FRAME_S
    assert report["labels"]["unlabelled_share"] == pytest.approx(1 - known.mean(), abs=1e-4)
    assert cv2.imread(str(folder / "labels_report" / "path.png")) is not None
    return report


def test_labels_agree_with_the_simulators_truth(tmp_path, monkeypatch):
    monkeypatch.setenv("DONKEY_AICC_CACHE", str(tmp_path / "cache"))
    scene = record_scene(tmp_path, seconds=21.0, rate_hz=20.0)
    report = label_and_check(scene, tmp_path)
    assert report["warnings"] == []
    assert report["alignment"]["residual_s"] < FRAME_S
    loaded = load_drives([scene.tub], labels_csv=tmp_path / "labels.csv")
    assert loaded.tau == pytest.approx(np.median(np.abs(scene.cte_m)), abs=0.01)
    assert loaded.report.tubs[0].label_source == "csv (cte)"


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "track", "codec"), [(7, "loop", "mp4v"), (8, "chicane", "MJPG")])
def test_labels_agree_over_a_long_drive_at_30_hz(tmp_path, seed, track, codec):
    scene = record_scene(tmp_path, 75.0, seed, 30.0, track, lead_s=4.65, occlusion_s=(31.0, 32.0), codec=codec)
    assert label_and_check(scene, tmp_path)["warnings"] == []
