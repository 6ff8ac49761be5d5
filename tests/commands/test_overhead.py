"""What donkey-aicc overhead says to mistakes; the good way is in tests/data/overhead/test_end_to_end.py."""

import json

import cv2
import numpy as np
import pytest

from donkey_aicc.cli import main


@pytest.fixture
def video(tmp_path):
    path = tmp_path / "v.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 20.0, (320, 240))
    for _ in range(5):
        writer.write(np.full((240, 320, 3), 90, np.uint8))
    writer.release()
    return path


def inputs(**changes):
    corners = [((20, 220), (0, 0)), ((300, 220), (4, 0)), ((300, 20), (4, 3)), ((20, 20), (0, 3))]
    return {
        "floor_points": [{"px": list(px), "m": list(m)} for px, m in corners],
        "marker": {"hsv_low": [145, 100, 60], "hsv_high": [170, 255, 255]},
        "centreline_px": [[60, 180], [260, 180], [260, 60], [60, 60]],
    } | changes


def calibrate(video, tmp_path, given):
    (tmp_path / "in.json").write_text(given if isinstance(given, str) else json.dumps(given))
    return main(["overhead", "calibrate", str(video), "--headless-json", str(tmp_path / "in.json")])


def test_inputs_become_a_setup_beside_the_video(video, tmp_path, capsys):
    assert calibrate(video, tmp_path, inputs()) == 0
    assert json.loads((tmp_path / "v_setup.json").read_text())["image_size_px"] == [320, 240]
    assert "v_setup.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (inputs(centreline_px=[[1, 1], [9, 9]]), "at least 3 different points"),
        (inputs(floor_points=inputs()["floor_points"][:3]), "at least 4 points, got 3"),
        (inputs(image_size_px=[1280, 720]), "the video has 320x240"),
        ("{", "not usable JSON"),
    ],
)
def test_wrong_inputs_write_nothing(video, tmp_path, capsys, given, said):
    assert calibrate(video, tmp_path, given) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "v_setup.json").exists()


def test_a_file_that_is_no_video_is_said(tmp_path, capsys):
    (tmp_path / "v.mp4").write_text("no video")
    assert calibrate(tmp_path / "v.mp4", tmp_path, inputs()) == 2
    assert "v.mp4" in capsys.readouterr().err


def test_nothing_is_written_into_the_tub(video, tmp_path, capsys):
    calibrate(video, tmp_path, inputs())
    arguments = ["overhead", "label", str(video), "--setup", str(tmp_path / "v_setup.json"), "--tub", str(tmp_path / "tub")]
    for more in (["--out", f"{tmp_path}/tub/l.csv"], ["--out", f"{tmp_path}/l.csv", "--report", f"{tmp_path}/tub/r"]):
        assert main(arguments + more) == 2
        assert "tubs are only read" in capsys.readouterr().err


def test_a_missing_tub_and_a_wrong_offset_are_said(video, tmp_path, capsys):
    calibrate(video, tmp_path, inputs())
    label = ["overhead", "label", str(video), "--setup", f"{tmp_path}/v_setup.json", "--tub", f"{tmp_path}/no"]
    assert main([*label, "--out", f"{tmp_path}/l.csv"]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert main([*label, "--out", f"{tmp_path}/l.csv", "--offset-s", "nan"]) == 2
    assert "--offset-s must be a number" in capsys.readouterr().err
