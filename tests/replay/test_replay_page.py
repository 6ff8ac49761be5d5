"""The page's requests over a real socket; the tub stays as it was."""

import hashlib
import json
import urllib.error

import pytest

from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import replay_page
from tests.replay.recorded_tub import FRAMES, write_tub
from tests.served_page import get, served


def fingerprint(folder):
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def tub(tmp_path_factory):
    folder = write_tub(tmp_path_factory.mktemp("page") / "tub")
    (folder / "images" / "7_cam_image_array_.jpg").write_bytes(b"\xff\xd8 cut")
    return folder


@pytest.fixture(scope="module")
def address(tub):
    before = fingerprint(tub)
    run = read_run(tub)
    with served(replay_page([run, run], [None, None])) as address:
        yield address
    assert fingerprint(tub) == before


def test_runs_and_frames_are_served(address, tub):
    runs = json.loads(get(address, "/api/runs")[1])["runs"]
    assert [run["length"] for run in runs] == [FRAMES, FRAMES] and not runs[0]["heat"]
    kind, jpeg = get(address, "/api/frame?run=1&row=3")
    assert kind == "image/jpeg" and jpeg == (tub / "images" / "3_cam_image_array_.jpg").read_bytes()
    assert json.loads(get(address, "/api/heat?run=0&row=3")[1]) == {"heat": None}
    assert b"<title>Replay" in get(address, "/")[1]


@pytest.mark.parametrize("query", ["run=0&row=60", "run=2&row=0", "run=0&row=-1", "run=0&row=1.5", "run=x&row=0", "row=7"])
def test_what_is_not_there_is_refused_in_words(address, query):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address, f"/api/frame?{query}")
    assert caught.value.code == 400 and json.loads(caught.value.read())["error"]
