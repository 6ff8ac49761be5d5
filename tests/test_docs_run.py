"""The pages do what they say: every Python block and every shell line is run, or says on the page why not.

Shell lines that are not run are still read by the command's own parser, so that no page names an option that is gone.
"""

import json
import re
import shlex
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import studies.__main__ as studies
from donkey_aicc import cli
from donkey_aicc.car.config import AiccConfig
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.record_drives import DrivePlan, record
from tests.page_blocks import ROOT, all_blocks

BLOCKS = all_blocks()
SHELL, PYTHON = ([block for block in BLOCKS if block.kind == kind] for kind in ("bash", "python"))
FOLDER_WORDS = ("cd", "source", "git", "donkey", "pip", "python3", "sudo", "torchrun")  # somebody else's programs


def test_every_block_says_what_it_is():
    assert {block.kind for block in BLOCKS} <= {"bash", "python", "json", "text"}
    for block in BLOCKS:
        if block.kind == "json":
            json.loads(block.text)
        assert block.kind != "text" or not re.search(r"^(donkey-aicc|python) ", block.text, re.MULTILINE), block


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_shell_lines_are_understood(block):
    for line in block.lines():
        words = shlex.split(line)
        if words[0] == "donkey-aicc":
            cli.build_parser(words[1]).parse_args(words[1:])
        elif words[:3] == ["python", "-m", "studies"]:
            cli.build_parser(words[3], studies.PROGRAM).parse_args(words[3:])
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), line
        elif words[0] == "python":
            assert (
                words[1] == "manage.py" or (ROOT / words[1]).is_file() or (ROOT / f"{words[2].replace('.', '/')}.py").is_file()
            ), line
        else:
            assert words[0] in FOLDER_WORDS, line


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """What the pages speak of: tubs below data/ and in ~/mycar/data, and a bundle of one's own."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("data/tub_1", "data/more_tubs/tub_2", "mycar/data/tub_1"):
        record([DrivePlan(folder / name, "loop", len(name), 180)], model=None)
    shutil.copytree(models_dir() / "reference", folder / "models" / "mine")
    return folder


@pytest.fixture
def at_home(world, monkeypatch):
    monkeypatch.setenv("HOME", str(world))
    monkeypatch.setenv("DONKEY_AICC_CACHE", str(world / "cache"))
    monkeypatch.chdir(world)
    return world


@pytest.mark.parametrize("block", [block for block in SHELL if not block.not_run], ids=str)
def test_shell_lines_run(block, at_home, capsys):
    for line in block.lines():
        words = [word.replace("~", str(at_home)) for word in shlex.split(line)]
        assert words[0] == "donkey-aicc", f"{block}: run it in a test, or say on the page why not: <!-- not run: why -->"
        assert cli.main(words[1:]) == 0, (line, capsys.readouterr().err)


class RecordingVehicle:
    """Adds parts as donkeycar's does, and keeps them for a look."""

    def __init__(self):
        self.parts = []

    def add(self, part, inputs=(), outputs=(), threaded=False, run_condition=None):
        assert callable(part.run_threaded if threaded else part.run)
        self.parts.append(part)


def names_of(page):
    """What a page takes for granted."""
    rng = np.random.default_rng(0)
    if page == "docs/calibrators.md":
        from tests.evaluation.conftest import make_tables

        made, rows = make_tables(), rng.random(30)
        tables = {"calibration_table": made.calibration, "d_aug_table": made.augmented, "test_table": made.test}
        return tables | dict.fromkeys(("p", "rho", "delta"), rows)
    if page in ("docs/extend.md", "README.md"):
        p, nominal = rng.random(300), np.arange(300) < 200
        arrays = {"p": p, "y": rng.random(300) < p, "fog": rng.random(300), "groups": np.arange(300) // 20, "nominal": nominal}
        arrays |= {"blur": arrays["fog"], "drive": arrays["groups"]}
        return arrays | {"pictures": np.zeros((3, 64, 64, 3), dtype=np.uint8), "commands": np.zeros((3, 2))}
    return {"V": RecordingVehicle(), "images": rng.random((2, 3, 64, 64), dtype=np.float32)}


@pytest.mark.parametrize("page", sorted({block.page for block in PYTHON if not block.not_run}))
def test_python_blocks_run_one_after_the_other(page, at_home):
    names = names_of(page)
    for block in [block for block in PYTHON if block.page == page and not block.not_run]:
        exec(compile(block.text, str(block), "exec"), names)
        if block.text.startswith("# myconfig.py"):
            AiccConfig.from_donkey(SimpleNamespace(**{name: value for name, value in names.items() if name.isupper()}))
    for part in getattr(names.get("V"), "parts", []):
        getattr(part, "shutdown", lambda: None)()


def test_a_block_that_is_not_run_says_more_than_that():
    assert all(len(block.not_run.split()) >= 3 for block in BLOCKS if block.not_run)
