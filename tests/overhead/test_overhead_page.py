"""The calibration page over real HTTP, with a session that needs no video."""

import json

import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.calibrate_camera import FOLDER, calibration_page
from tests.served_page import get, post, served


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
