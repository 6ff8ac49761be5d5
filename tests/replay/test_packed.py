"""What the page gets is what the run holds, to a 65534th of its range."""

import base64

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import UNKNOWN, packed_numbers, packed_run, packed_words
from tests.replay.recorded_tub import write_tub

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
