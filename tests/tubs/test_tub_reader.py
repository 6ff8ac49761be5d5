"""Version 2 tubs as donkeycar writes them, and as crashes, copies and other programs leave them."""

import json
import shutil
from pathlib import Path

import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.tubs.find_tubs import find_tubs, read_tub, tub_names
from donkey_aicc.tubs.tub_contents import number


def codes(contents):
    return {finding.code: finding.count for finding in contents.findings}


def indices(contents):
    return [record.index for record in contents.records]


def test_a_sound_tub_over_many_catalogs_has_no_findings(make_tub):
    contents = read_tub(make_tub(37, catalog_len=5).path)
    assert indices(contents) == list(range(37)) and codes(contents) == {}
    assert contents.image_paths()[3] == str(contents.path / "images" / "3_cam_image_array_.jpg")


def test_catalogs_are_read_in_number_order_not_in_name_order(make_tub):
    made = make_tub(60, catalog_len=5)
    assert len(made.catalogs) >= 11
    (made.path / "manifest.json").unlink()
    assert indices(read_tub(made.path)) == list(range(60))


def test_deleted_records_are_known_but_still_listed(make_tub):
    from donkeycar.parts.tub_v2 import Tub

    made = make_tub(20)
    tub = Tub(str(made.path))
    tub.manifest.add_deleted_indexes([3, 4, 5])
    tub.close()
    contents = read_tub(made.path)
    assert contents.deleted == {3, 4, 5} and len(contents.records) == 20


def test_missing_manifest_still_gives_the_records(make_tub):
    made = make_tub(12, catalog_len=5)
    (made.path / "manifest.json").unlink()
    contents = read_tub(made.path)
    assert len(contents.records) == 12 and codes(contents) == {"manifest-damaged": 1}


@pytest.mark.parametrize("keep", [0, 1, 2, 3, 4])
def test_manifest_cut_off_after_any_line(make_tub, keep):
    made = make_tub(12)
    manifest = made.path / "manifest.json"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(lines[:keep]) + lines[keep][:7])
    contents = read_tub(made.path)
    assert len(contents.records) == 12 and "manifest-damaged" in codes(contents)


def test_manifest_without_metadata_lines(make_tub):
    made = make_tub(12)
    manifest = made.path / "manifest.json"
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join([lines[0], lines[1], lines[4]]))
    assert codes(read_tub(made.path)) == {}


def test_listed_catalog_is_absent(make_tub):
    made = make_tub(20, catalog_len=5)
    made.catalogs[1].unlink()
    contents = read_tub(made.path)
    assert len(contents.records) < 20
    assert codes(contents)["catalog-missing"] == 1 and codes(contents)["missing-index"] == 20 - len(contents.records)


def test_last_catalog_is_absent(make_tub):
    made = make_tub(20, catalog_len=5)
    made.catalogs[-1].unlink()
    contents = read_tub(made.path)
    assert codes(contents)["records-missing"] == 20 - len(contents.records) > 0


def test_an_earlier_recording_whose_deletions_are_lost_is_called_so_and_can_be_left_out(make_tub):
    """Ten records in catalogs that the manifest no longer lists, an hour and a half older than the rest."""
    made = make_tub(20, catalog_len=5)
    made.edit(lambda record: record | {"_timestamp_ms": record["_timestamp_ms"] - 5_400_000 * (record["_index"] >= 10)})
    manifest = made.path / "manifest.json"
    lines = manifest.read_text().splitlines()
    last = json.loads(lines[-1])
    last |= {"paths": last["paths"][:2], "current_index": 10}
    manifest.write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")
    contents = read_tub(made.path)
    (said,) = [finding for finding in contents.findings if finding.code == "catalog-unlisted"]
    assert len(contents.records) == 20 and said.count == 10 and "recorded 1.5 h earlier" in said.message
    assert "records-uncounted" not in codes(contents)
    assert [record.index for record in read_tub(made.path, listed_only=True).records] == list(range(10))


def test_stray_hidden_catalog_is_ignored(make_tub):
    made = make_tub(10)
    (made.path / "._catalog_0.catalog").write_bytes(b"\x00\x05\x16\x07 Mac OS X")
    contents = read_tub(made.path)
    assert len(contents.records) == 10 and codes(contents) == {"stray-file": 1}


def test_catalog_cut_off_mid_line_loses_only_that_record(make_tub):
    made = make_tub(10)
    catalog = made.catalogs[0]
    catalog.write_bytes(catalog.read_bytes()[:-40])
    contents = read_tub(made.path)
    assert indices(contents) == list(range(9))
    assert codes(contents) == {"record-unreadable": 1, "records-missing": 1, "catalog-manifest": 1}


def test_garbage_in_the_middle_of_a_catalog(make_tub):
    made = make_tub(10)
    made.edit(
        lambda record: {4: "\x00" * 30, 5: "[1, 2]", 6: '{"no": "index"}', 7: '{"_index": 1e40}'}.get(record["_index"], record)
    )
    contents = read_tub(made.path)
    assert indices(contents) == [0, 1, 2, 3, 8, 9]
    assert codes(contents) == {"record-unreadable": 4, "missing-index": 4}


def test_records_stored_twice_and_indices_used_twice(make_tub):
    made = make_tub(10)

    def change(record):
        line = json.dumps(record)
        if record["_index"] == 3:
            return f"{line}\n{line}"
        return f"{line}\n{json.dumps(record | {'user/angle': 0.9})}" if record["_index"] == 5 else line

    made.edit(change)
    contents = read_tub(made.path)
    assert indices(contents) == list(range(10)) and contents.records[5].values["user/angle"] == 0.9
    assert codes(contents)["repeated-record"] == 1 and codes(contents)["duplicate-index"] == 1


def test_lost_catalog_manifest_is_only_a_note(make_tub):
    made = make_tub(10)
    made.catalogs[0].with_suffix(".catalog_manifest").unlink()
    contents = read_tub(made.path)
    assert len(contents.records) == 10 and [finding.level for finding in contents.findings] == ["note"]


def test_numbers_in_every_spelling():
    assert [number(value) for value in (1, "0.5", " -2e-1 ", True)] == [1.0, 0.5, -0.2, 1.0]
    assert all(number(value) != number(value) for value in (None, "", "left", "NaN", float("inf"), [1], {}))


def test_another_image_key_and_foreign_paths(make_tub):
    made = make_tub(6)
    made.edit(
        lambda record: (
            {"left/camera": f"C:\\cars\\x\\{record['cam/image_array']}"}
            | {k: v for k, v in record.items() if k != "cam/image_array"}
        )
    )
    assert all(Path(path).exists() for path in read_tub(made.path).image_paths())


def test_tubs_are_found_below_a_folder_and_told_apart(make_tub, tmp_path):
    make_tub(3, name="a/tub")
    make_tub(3, name="b/tub")
    make_tub(3, name="b/other")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "manifest.json").write_text('{"schema": 1}')
    tubs = find_tubs([tmp_path, tmp_path / "a" / "tub"])
    assert len(tubs) == 3
    assert sorted(tub_names(tubs)) == ["a_tub", "b_tub", "other"]


def test_what_is_not_a_tub_is_named(tmp_path):
    with pytest.raises(AiccError, match="no such folder"):
        find_tubs([tmp_path / "absent"])
    with pytest.raises(AiccError, match="neither catalogs"):
        find_tubs([tmp_path])
    (tmp_path / "file").write_text("x")
    with pytest.raises(AiccError, match="not a folder"):
        read_tub(tmp_path / "file")


def test_version_1_tub(make_v1_tub):
    path = make_v1_tub(12)
    contents = read_tub(path)
    assert contents.format == "v1" and indices(contents) == list(range(12)) and codes(contents) == {}
    assert contents.records[10].time_ms == 1000 and Path(contents.image_paths()[10]).exists()


def test_damaged_version_1_tub(make_v1_tub):
    path = make_v1_tub(12)
    (path / "record_3.json").write_text('{"user/angle": 0.')
    (path / "record_7.json").unlink()
    (path / "meta.json").unlink()
    shutil.copy(path / "record_0.json", path / "._record_0.json")
    contents = read_tub(path)
    assert indices(contents) == [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert codes(contents) == {"manifest-damaged": 1, "record-unreadable": 1, "missing-index": 1}
