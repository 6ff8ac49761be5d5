"""donkey-aicc label as a script calls it: answers from a table, what it asks next, and bad input in clear words."""

import csv
import shutil

import numpy as np
import pytest
from PIL import Image

from donkey_aicc.cli import main
from tests.labelling.conftest import off_road, picture
from tests.tubs.conftest import MadeTub

FRAMES = 500


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> MadeTub:
    """Written at once, so that the reader takes the index for the time."""
    from donkeycar.parts.tub_v2 import Tub

    path = tmp_path_factory.mktemp("recorded") / "tub"
    tub = Tub(str(path), inputs=["cam/image_array", "user/angle", "user/throttle"], types=["image_array", "float", "float"])
    rng = np.random.default_rng(0)
    for index, off in enumerate(off_road(0)[:FRAMES]):
        tub.write_record({"cam/image_array": picture(off, rng), "user/angle": index / FRAMES, "user/throttle": 0.3})
    tub.close()
    return MadeTub(path)


@pytest.fixture
def tub(recorded, tmp_path, monkeypatch) -> MadeTub:
    """A copy to spoil."""
    monkeypatch.setenv("DONKEY_AICC_CACHE", str(recorded.path.parent / "cache"))
    return MadeTub(shutil.copytree(recorded.path, tmp_path / "tub"))


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "reference.csv"
    rows = [f"{index},{'' if index % 97 == 0 else int(not off)}" for index, off in enumerate(off_road(0)[:FRAMES])]
    path.write_text("index,safe\n" + "\n".join(rows) + "\n")
    return path


def label(tub, *words):
    return main(["label", str(tub.path), *map(str, words)])


def test_a_table_answers_what_is_asked_and_the_labels_agree(tub, reference, tmp_path, capsys):
    out = tmp_path / "out" / "labels.csv"
    before = sorted(path.name for path in tub.path.rglob("*"))
    assert label(tub, "--answers", reference, "--questions", 40, "--compare", reference, "--out", out) == 0
    said = capsys.readouterr().out
    assert "answers   40" in said and "compared with" in said
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == FRAMES and sum(row["source"] == "model" for row in rows) > 250
    known = [(row["safe"], str(int(not off))) for row, off in zip(rows, off_road(0), strict=False) if row["source"] == "model"]
    assert sum(a == b for a, b in known) / len(known) > 0.95
    assert sorted(path.name for path in tub.path.rglob("*")) == before  # nothing goes into the tub
    assert main(["check", str(tub.path), "--labels", str(out)]) in (0, 1)
    assert "csv (safe)" in capsys.readouterr().out


def test_a_script_gets_the_next_questions_and_answers_some(tub, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    assert label(tub, "--ask", 10, "--out", out) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tub,index,why" and len(lines) == 11
    asked = [int(line.split(",")[1]) for line in lines[1:]]
    table = tmp_path / "said.csv"
    table.write_text("index,answer\n" + "".join(f"{index},{'skip' if index % 2 else 'safe'}\n" for index in asked))
    assert label(tub, "--answers", table, "--out", out) == 0
    assert "too few to label the rest" in capsys.readouterr().out
    assert label(tub, "--ask", 10, "--out", out) == 0
    assert not set(asked) & {int(line.split(",")[1]) for line in capsys.readouterr().out.splitlines()[1:]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("index,answer\n999999,safe\n", "of another tub"),
        ("index,answer\n5,perhaps\n", "must be one of"),
        ("index,colour\n5,red\n", "columns index and answer or safe"),
        ("index,safe\n5,2\n", "safe must be 0, 1 or empty"),
        ("index,safe\nfive,1\n", "whole number"),
    ],
)
def test_bad_answers_end_in_one_line(tub, tmp_path, capsys, table, message):
    path = tmp_path / "said.csv"
    path.write_text(table)
    assert label(tub, "--answers", path, "--out", tmp_path / "labels.csv") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "labels.csv").exists()


def test_contradicting_rows_are_counted_and_the_later_counts(tub, tmp_path, capsys):
    path = tmp_path / "said.csv"
    path.write_text("index,answer\n5,safe\n5,unsafe\n5,safe\n5,unsafe\n99999,safe\n")
    assert label(tub, "--answers", path, "--out", tmp_path / "labels.csv") == 0
    said = capsys.readouterr().err
    assert "1 records are answered in two ways, such as 5" in said and "1 rows name no usable frame" in said
    assert [row["safe"] for row in csv.DictReader((tmp_path / "labels.csv").open()) if row["index"] == "5"] == ["0"]


def test_answers_of_another_tub_with_the_same_indices_are_found_out_by_their_times(tub, tmp_path, capsys):
    path, out = tmp_path / "said.csv", tmp_path / "labels.csv"
    path.write_text("index,safe,time_ms\n" + "".join(f"{index},1,1600000000000\n" for index in range(50)))
    assert label(tub, "--answers", path, "--out", out) == 2
    assert "is of another tub" in capsys.readouterr().err and not out.exists()


def test_a_tub_without_images_is_refused_in_words(tub, tmp_path, capsys):
    for image in (tub.path / "images").iterdir():
        image.unlink()
    assert label(tub, "--ask", 3, "--out", tmp_path / "labels.csv") == 2
    assert "no usable sequence" in capsys.readouterr().err


def test_images_of_two_sizes_are_labelled_all_the_same(tub, reference, tmp_path, capsys):
    for index in range(0, FRAMES, 2):
        Image.open(tub.image(index)).resize((96, 96)).save(tub.image(index))
    assert label(tub, "--answers", reference, "--questions", 30, "--out", tmp_path / "labels.csv") == 0
    assert "answers   30" in capsys.readouterr().out


def test_options_that_cannot_work_are_refused_before_the_work(tub, capsys):
    assert main(["label", "/nowhere", "--questions", "5"]) == 2
    assert "--questions needs --answers" in capsys.readouterr().err
    assert main(["label", "/nowhere", "--ask", "0"]) == 2
    assert "--ask must be >= 1" in capsys.readouterr().err
    assert label(tub, "--ask", 1, "--out", tub.path / "labels.csv") == 2
    assert "must not lie inside the tub" in capsys.readouterr().err
