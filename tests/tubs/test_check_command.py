"""`donkey-aicc check` as a person or a script uses it."""

import hashlib
import json

import numpy as np
import pytest

from donkey_aicc.cli import main


def state(folder):
    """Every file's bytes and times, so that any write shows."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder",
        )
        for path in sorted([folder, *folder.rglob("*")])
    }


def test_exit_codes_tell_usable_lossy_and_unusable_apart(make_tub, capsys):
    good, lossy, bad = (make_tub(12, name=name) for name in ("good", "lossy", "bad"))
    lossy.image(3).unlink()
    for index in range(12):
        bad.image(index).write_bytes(b"")
    assert main(["check", str(good.path)]) == 0
    assert main(["check", str(lossy.path)]) == 1
    assert main(["check", str(bad.path)]) == 2
    assert main(["check", str(good.path), str(bad.path)]) == 1
    text = capsys.readouterr().out
    assert "usable with losses" in text and "12 records have a zero-byte image" in text


def test_a_path_that_is_no_tub_is_named_and_the_others_are_still_checked(make_tub, tmp_path, capsys):
    made = make_tub(12)
    assert main(["check", str(made.path), str(tmp_path / "nowhere")]) == 1
    text = capsys.readouterr().out
    assert "no such folder" in text and "records    12, 12 usable" in text
    assert main(["check", str(tmp_path / "nowhere")]) == 2


def test_json_is_strict_and_complete(make_tub, capsys):
    made = make_tub(20, pos__cte=np.linspace(-1, 1, 20))
    made.image(9).unlink()
    assert main(["check", str(made.path), "--json", "--tau", "0.5"]) == 1
    report = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    [tub] = report["tubs"]
    assert report["tau"] == 0.5 and report["exit_code"] == 1 and tub["verdict"] == "usable with losses"
    assert tub["cuts"] == [] and tub["sequences"] == [{"first": 0, "last": 19, "frames": 20}] and tub["usable"] == 19
    assert tub["label_source"] == "cte" and 0.4 < tub["safe_share"] < 0.6 and tub["action_sources"] == {"user/*": 20}


def test_json_of_an_unusable_tub_has_null_for_unknown(tmp_path, capsys):
    (tmp_path / "catalog_0.catalog").write_text("")
    assert main(["check", str(tmp_path), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["tubs"][0]["rate_hz"] is None


@pytest.mark.parametrize("damage", ["none", "manifest", "catalog"])
def test_a_tub_is_never_written(make_tub, damage):
    made = make_tub(12, catalog_len=5)
    if damage == "manifest":
        (made.path / "manifest.json").write_text("[")
    if damage == "catalog":
        made.catalogs[0].write_text("{")
    before = state(made.path)
    main(["check", str(made.path)])
    assert state(made.path) == before


def test_wrong_tau_is_refused_by_the_parser(make_tub, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["check", str(make_tub(3).path), "--tau", "-2"])
    assert stopped.value.code == 2 and "number > 0 or auto" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(12))
def test_random_damage_never_ends_in_a_traceback(make_tub, capsys, seed):
    """Bytes flipped, cut, repeated or removed anywhere: the answer is a report with one of the three exit codes."""
    rng = np.random.default_rng(seed)
    made = make_tub(24, catalog_len=7, pos__cte=np.linspace(-1, 1, 24))
    files = [path for path in sorted(made.path.rglob("*")) if path.is_file()]
    damaged = rng.choice(len(files), 6, replace=False)
    catalogs_and_manifest = [number for number, path in enumerate(files) if path.suffix != ".jpg"]
    for number in {*damaged.tolist(), *rng.choice(catalogs_and_manifest, 2).tolist()}:
        data = bytearray(files[number].read_bytes())
        start = int(rng.integers(len(data)))
        kind = int(rng.integers(5))
        if kind == 0:
            data[start : start + 8] = rng.integers(0, 256, 8, dtype=np.uint8).tobytes()
        elif kind == 1:
            del data[start:]
        elif kind == 2:
            data[start:start] = data[:start]
        elif kind == 3:
            data[start:] = bytes(len(data) - start)
        else:
            data = bytearray(data.replace(b"0.", b'"0,').replace(b"_index", b"index", 1))
        files[number].write_bytes(data)
    assert main(["check", str(made.path), "--json"]) in (0, 1, 2)
    assert json.loads(capsys.readouterr().out)["tubs"][0]["verdict"]
