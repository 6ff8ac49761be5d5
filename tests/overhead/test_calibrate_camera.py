"""The calibration page over real HTTP, with a session that needs no video."""

import json

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.calibrate_camera import FOLDER, CalibrationSession, calibration_page
from donkey_aicc.overhead.setup_file import load_setup
from donkey_aicc.overhead.video import Video
from tests.served_page import get, post, served


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


class KnownSession:
    """Answers like a real one, without a video."""

    def state(self):
        return {"video": "v.mp4"}

    def frame_jpeg(self, time_s):
        return f"frame at {time_s}".encode()

    def pick(self, time_s, x, y, inputs):
        return {"at": [time_s, x, y]}

    def estimate_lens(self, inputs):
        return {"lens_k1": -0.01}

    def preview(self, time_s, inputs):
        return {"problems": {}, "seen": inputs}

    def save(self, inputs):
        if not inputs:
            raise AiccError("the centreline needs at least 3 different points, got 0")
        return {"saved": "setup.json"}


@pytest.fixture(scope="module")
def address():
    with served(calibration_page(KnownSession())) as address:
        yield address


def test_the_page_and_every_file_it_names_are_served(address):
    page = get(address, "/")[1].decode()
    for name in (path.name for path in FOLDER.iterdir() if path.name != "index.html"):
        assert name in page
        assert get(address, f"/{name}")[1] == (FOLDER / name).read_bytes()


def test_state_and_frame(address):
    assert json.loads(get(address, "/api/state")[1]) == {"video": "v.mp4"}
    assert get(address, "/api/frame?t=1.5") == ("image/jpeg", b"frame at 1.5")


def test_actions_reach_the_session(address):
    assert post(address, "preview", {"t": 0, "inputs": {"a": 1}}) == (200, {"problems": {}, "seen": {"a": 1}})
    assert post(address, "pick", {"t": 1, "x": 2, "y": 3, "inputs": {}}) == (200, {"at": [1, 2, 3]})
    assert post(address, "lens", {"inputs": {}}) == (200, {"lens_k1": -0.01})
    assert post(address, "save", {"inputs": {"a": 1}}) == (200, {"saved": "setup.json"})


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("save", {"inputs": {}}, "at least 3 different points"),
        ("preview", {"inputs": {}}, "t must be a number, got None"),
        ("pick", {"t": 0, "x": "left", "y": 1, "inputs": {}}, "x must be a number"),
        ("preview", {"t": 0}, 'with "inputs"'),
    ],
)
def test_mistakes_come_back_as_messages(address, name, body, said):
    status, answer = post(address, name, body)
    assert status == 400
    assert said in answer["error"]
