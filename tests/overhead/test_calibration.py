import json

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.calibrate_camera import CalibrationSession
from donkey_aicc.overhead.setup_file import load_setup
from donkey_aicc.overhead.video import Video


@pytest.fixture
def session(make_video, draw_spots, tmp_path):
    return CalibrationSession(Video(make_video([draw_spots([(3.1, 1.5)])] * 5)), tmp_path / "setup.json")


def test_an_unfinished_setup_shows_what_is_there_and_what_is_missing(session, inputs):
    shown = session.preview(0.0, {"floor_points": inputs["floor_points"]})
    assert shown["grid_px"]
    assert "track_px" not in shown
    assert shown["problems"]["floor"] is None
    assert "marker" in shown["problems"]["marker"]
    assert "centreline" in shown["problems"]["centreline"]


def test_a_finished_setup_shows_track_mask_and_the_cars_error(session, inputs):
    shown = session.preview(0.0, inputs)
    assert not any(shown["problems"].values())
    assert shown["mask"].startswith("data:image/png;base64,")
    assert shown["length_m"] == pytest.approx(2 * np.pi, abs=0.02)
    assert shown["blobs_cte_m"] == pytest.approx([0.1], abs=0.01)
    json.dumps(shown)


def test_the_marker_is_picked_by_a_click(session, inputs):
    found = session.pick(0.0, 100 + 110 * 3.1, 220.0, inputs)
    assert found["size_m"] == pytest.approx(0.12, abs=0.02)
    assert session.preview(0.0, inputs | {"marker": found})["blobs_cte_m"] == pytest.approx([0.1], abs=0.01)


def test_saving_writes_what_label_reads_and_refuses_half_a_setup(session, inputs, tmp_path):
    with pytest.raises(AiccError, match="marker"):
        session.save(inputs | {"marker": {}})
    assert not (tmp_path / "setup.json").exists()
    session.save(inputs)
    assert load_setup(tmp_path / "setup.json").size_px == (640, 480)


def test_an_old_setup_can_be_edited(session, inputs, tmp_path):
    session.save(inputs)
    stored = json.loads((tmp_path / "setup.json").read_text())
    again = CalibrationSession(session.video, session.setup_path, stored).state()["inputs"]
    assert len(again["centreline_px"]) == 16
    assert not any(session.preview(0.0, again)["problems"].values())


def test_frames_are_jpegs(session):
    assert session.frame_jpeg(0.1)[:2] == b"\xff\xd8"
