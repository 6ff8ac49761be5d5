"""The page's requests over a real socket; the tub stays as it was.

What the page gets is what the run holds, to a 65534th of its range.
"""

import base64
import hashlib
import json
import urllib.error

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import UNKNOWN, packed_numbers, packed_run, packed_words, replay_page
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


VALUES = st.one_of(st.floats(-1e6, 1e6, width=32), st.just(np.nan))


def unpacked(column):
    levels = np.frombuffer(base64.b64decode(column["data"]), "<u2").astype(float)
    values = column["from"] + levels * (column["to"] - column["from"]) / 65534
    return np.where(levels == UNKNOWN, np.nan, values)


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_numbers_come_back(values):
    given = np.array(values, dtype=np.float32)
    column = packed_numbers(given)
    known = given[np.isfinite(given)]
    step = (float(known.max()) - float(known.min())) / 65534 if len(known) else 0.0
    np.testing.assert_allclose(unpacked(column), given, atol=0.51 * step + 1e-6, rtol=1e-6)


def test_words_come_back():
    column = packed_words(np.array(["ok", "", "stale", "ok"]))
    codes = np.frombuffer(base64.b64decode(column["data"]), "<u2")
    assert [column["words"][code] for code in codes] == ["ok", "", "stale", "ok"]


def test_severities_stay_whole_numbers(tmp_path):
    packed = packed_run(read_run(write_tub(tmp_path / "tub")))
    assert packed["numbers"]["inject_severity"]["whole"] and not packed["numbers"]["rho"]["whole"]
    assert packed["numbers"]["confidence"]["vector"] and packed["numbers"]["confidence"]["width"] == 11
