"""Bounded readers: what does not belong into a file of ours is refused with the file's name and the rule."""

import pytest

from donkey_aicc.errors import LONGEST_MESSAGE, AiccError, shortened
from donkey_aicc.untrusted import MAX_DEPTH, parse_json, read_bounded, read_table, read_untrusted_json


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[" * 100_000, "nested at most 40 levels"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested at most 40 levels"),
        ('{"a": 1' + "0" * 400 + "}", "at most 25 digits, got 401"),
        ('{"a": 1e999}', "must be finite, got 1e999"),
        ('{"a": NaN}', "must be finite, got NaN"),
        ('{"a": ', "not usable JSON"),
        (b"\xff\xfe\x00", "not usable JSON"),
    ],
)
def test_a_bad_json_names_the_file_and_the_rule(text, rule):
    with pytest.raises(AiccError, match=rule) as caught:
        parse_json(text, "calibrator.json")
    assert str(caught.value).startswith("calibrator.json")


def test_a_good_json_comes_through(tmp_path):
    path = tmp_path / "good.json"
    path.write_text('{"a": [1, 2.5, null, "text", {"b": true}]}')
    assert read_untrusted_json(path) == {"a": [1, 2.5, None, "text", {"b": True}]}


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(b"[" + b"1," * 100 + b"1]")
    with pytest.raises(AiccError, match="at most 20 bytes"):
        read_bounded(path, 20)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"index,safe\n1,2,3\n", "line 2 has more cells"),
        (b"index,index\n1,2\n", "name each column once"),
        (b"index,safe\n\xff,1\n", "not a readable table"),
        (b'index,safe\n"1,0\n', "not a readable table"),
    ],
)
def test_a_bad_table_is_named(tmp_path, content, rule):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    with pytest.raises(AiccError, match=rule):
        read_table(path)


def test_a_table_with_short_rows_has_empty_cells(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\xef\xbb\xbfindex,safe\r\n1,0\r\n2\r\n")
    assert read_table(path) == (["index", "safe"], [{"index": "1", "safe": "0"}, {"index": "2", "safe": ""}])


def test_a_message_keeps_its_beginning_and_its_advice():
    error = AiccError("calibrator.json: label must be a text, got '" + "x" * 5000 + "'; make it again with donkey-aicc calibrate")
    assert len(str(error)) <= LONGEST_MESSAGE
    assert str(error).startswith("calibrator.json: label") and str(error).endswith("donkey-aicc calibrate")
    assert shortened("short") == "short"
