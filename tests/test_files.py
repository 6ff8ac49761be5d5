"""Atomic writes: the old file or the new one, never half of one, and nothing left beside it."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from donkey_aicc.files import atomic_path, exchange, sha256_of, write_atomic, write_json


def test_a_failed_write_leaves_the_old_content_and_no_litter(tmp_path):
    target = tmp_path / "scores.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="disk"), atomic_path(target) as temporary:
        temporary.write_text("half of the new")
        raise RuntimeError("disk full")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_new_content_appears_only_at_the_end(tmp_path):
    target = tmp_path / "scores.txt"
    with atomic_path(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_the_temporary_name_keeps_the_suffix_and_the_folder(tmp_path):
    with atomic_path(tmp_path / "figure.png") as temporary:
        assert temporary.suffix == ".png"
        assert temporary.parent == tmp_path


def test_missing_folders_are_made(tmp_path):
    write_atomic(tmp_path / "a" / "b" / "text.txt", "ä")
    assert (tmp_path / "a" / "b" / "text.txt").read_bytes() == "ä".encode()


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_atomic(tmp_path / "new", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o755, 0o600])
def test_an_existing_file_keeps_its_permissions(tmp_path, mode):
    target = tmp_path / "manage.py"
    target.write_text("old")
    target.chmod(mode)
    write_atomic(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == mode


def test_json_is_readable_and_ends_with_a_newline(tmp_path):
    write_json(tmp_path / "value.json", {"a": [1, 2.5, None]})
    text = (tmp_path / "value.json").read_text()
    assert json.loads(text) == {"a": [1, 2.5, None]}
    assert text.endswith("}\n")


def test_json_refuses_nan_and_keeps_the_old_file(tmp_path):
    target = tmp_path / "value.json"
    write_json(target, 1)
    with pytest.raises(ValueError, match="JSON"):
        write_json(target, {"loss": float("nan")})
    assert json.loads(target.read_text()) == 1


def test_sha256_is_that_of_the_bytes(tmp_path):
    content = bytes(range(256)) * 9000  # more than one block
    (tmp_path / "weights").write_bytes(content)
    assert sha256_of(tmp_path / "weights") == hashlib.sha256(content).hexdigest()


def test_what_a_killed_writer_left_goes_when_the_file_is_written_again(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / f".table.{dead.pid}-0123456789ab.json"
    left.write_text("half")
    folder = tmp_path / f".table.{dead.pid}-tub_.json"
    (folder / "images").mkdir(parents=True)
    others = [
        f".table.{os.getpid()}-0123456789ab.json",
        f".other.{dead.pid}-0123456789ab.json",
        ".table.json",
        ".table.9x-1.json",
    ]
    for name in others:
        (tmp_path / name).write_text("another's")
    write_atomic(tmp_path / "table.json", "{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "table.json"])


@pytest.mark.skipif(sys.platform != "linux", reason="a call of Linux")
def test_two_folders_change_places_in_one_step(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text(name)
    assert exchange(tmp_path / "new", tmp_path / "old")
    assert [(tmp_path / name / "content").read_text() for name in ("old", "new")] == ["new", "old"]
    assert not exchange(tmp_path / "new", tmp_path / "not there")
