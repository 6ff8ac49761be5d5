"""Files that never end, or are far larger than they look: refused in words, without waiting and without filling the memory."""

import json
import os
import struct
import tracemalloc
import zlib

import pytest

from donkey_aicc.cli import main
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.manifest import read_manifest
from donkey_aicc.replay.pictures import jpeg_of_row
from donkey_aicc.replay.read_run import read_run
from donkey_aicc.tubs.image_file import UNREADABLE, decode_image_file, decode_whole
from donkey_aicc.tubs.load import load_drives
from donkey_aicc.untrusted import json_or_none, read_table, read_untrusted_json
from tests.hostile.doors import good_tub
from tests.monitor_under_test import make_bundle

ENDLESS = ("pipe", "device")


def endless(path, kind):
    path.unlink(missing_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("read", [read_untrusted_json, read_table])
def test_what_never_ends_is_no_file(tmp_path, kind, read):
    with pytest.raises(AiccError, match="must be a file"):
        read(endless(tmp_path / "given", kind))


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_bundle_with_an_endless_manifest_is_refused(tmp_path, kind):
    endless(tmp_path / "manifest.json", kind)
    with pytest.raises(AiccError, match="must be a file"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("name", ["manifest.json", "catalog_0.catalog_manifest", "images/2_cam_image_array_.jpg"])
def test_a_tub_with_an_endless_file_is_read_without_it(tmp_path, kind, name):
    tub = good_tub(tmp_path)
    endless(tub / name, kind)
    (drive,) = load_drives([tub], cache_dir=tmp_path / "cache", min_length=1).drives
    assert len(drive) == 4 and (drive.images[2] == drive.images[1]).all() == ("images" in name)  # the frame before stands for it


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_folder_with_nothing_but_an_endless_manifest_is_no_tub(tmp_path, kind):
    (tmp_path / "tub").mkdir()
    endless(tmp_path / "tub" / "manifest.json", kind)
    with pytest.raises(AiccError, match="no tub at"):
        load_drives([tmp_path], cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("line", [b"1,1\n", b"\n", b"\r"])
def test_a_table_of_millions_of_rows_is_refused_before_it_fills_the_memory(tmp_path, line):
    (tmp_path / "labels.csv").write_bytes(b"index,safe\n" + line * 2_000_000)
    with pytest.raises(AiccError, match="at most 1000000 rows"):
        read_table(tmp_path / "labels.csv")


def test_a_table_of_many_columns_is_refused(tmp_path):
    (tmp_path / "labels.csv").write_text(",".join(f"c{number}" for number in range(5000)) + "\n1\n")
    with pytest.raises(AiccError, match="at most 1000 columns"):
        read_table(tmp_path / "labels.csv")


def test_a_link_to_itself_is_no_tub(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(AiccError, match="no tub at"):
        load_drives([tmp_path / "loop"], cache_dir=tmp_path / "cache")
    assert main(["check", str(tmp_path / "loop")]) == 2


def test_names_of_strangers_do_not_reach_the_terminal_as_commands(tmp_path, capsys):
    tub = good_tub(tmp_path).rename(tmp_path / "a\x1b[2Jb\u202e")
    main(["check", str(tub), "--cache-dir", str(tmp_path / "cache")])
    bundle = make_bundle(tmp_path / "bundle")
    manifest = json.loads((bundle / "manifest.json").read_text())
    (bundle / "manifest.json").write_text(json.dumps(manifest | {"warnings": ["\x1b]0;title\x07"]}))
    assert main(["info", str(bundle)]) == 0
    main(["info", str(tmp_path / "no\x1b[31m")])
    said = "".join(capsys.readouterr())
    assert "a\\x1b[2Jb\\x202e" in said and "title" in said and "no\\x1b[31m" in said
    assert not set(said) & set("\x1b\x07\u202e")


@pytest.mark.parametrize("data", [{"frames": [1]}, {"tubs": [3]}, {"label_file": 5}, {"split": 2}])
def test_what_a_manifest_tells_of_its_data_may_be_of_any_kind(tmp_path, data, capsys):
    bundle = make_bundle(tmp_path / "bundle")
    manifest = json.loads((bundle / "manifest.json").read_text())
    (bundle / "manifest.json").write_text(json.dumps(manifest | {"data": data}))
    assert main(["info", str(bundle)]) == 2
    assert "holds an entry of a wrong kind" in capsys.readouterr().err


def test_an_image_name_cannot_leave_the_tub(tmp_path):
    tub = good_tub(tmp_path)
    (tub / "images/2_cam_image_array_.jpg").rename(tmp_path / "outside.jpg")
    catalog = tub / "catalog_0.catalog"
    catalog.write_text(catalog.read_text().replace("2_cam_image_array_.jpg", "../../outside.jpg"))
    (drive,) = load_drives([tub], cache_dir=tmp_path / "cache", min_length=1).drives
    assert (drive.images[2] == drive.images[1]).all()


def test_a_link_in_a_tub_leads_to_nobodys_own_pictures(tmp_path):
    """It was followed, and what it led to was in the page and the dataset that were made of the tub."""
    tub, own = good_tub(tmp_path), tmp_path / "own.jpg"
    picture = tub / "images" / "2_cam_image_array_.jpg"
    own.write_bytes(picture.read_bytes())
    picture.unlink()
    picture.symlink_to(own)
    assert decode_image_file(picture).status == UNREADABLE and decode_whole(picture) is None
    assert jpeg_of_row(read_run(tub), 1) and jpeg_of_row(read_run(tub), 2) is None
    (tub / "images").rename(tmp_path / "elsewhere")
    (tub / "images").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AiccError, match="must be a folder of the tub, got a link"):
        read_run(tub)


def test_a_small_file_that_claims_a_huge_picture_is_not_unpacked(tmp_path):
    side = 30_000

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes(1000), 9)
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    tracemalloc.start()
    try:
        assert decode_image_file(tmp_path / "bomb.png").status == UNREADABLE
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_nested_lines_are_refused_before_the_reader_sees_them():
    """Where a library has raised the recursion limit, Python's own reader ends the whole program."""
    assert json_or_none(b"[" * 1_000_000) is None
    assert json_or_none(b'{"a": [1, NaN]}')["a"][0] == 1
    assert json_or_none(b'"' + b"[" * 5000 + b'"') == "[" * 5000  # brackets in a text are no nesting
