"""What others build on: every public name says what it takes, in which shape and unit, and shows an example that runs."""

import doctest
import inspect
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import donkey_aicc
from donkey_aicc.resources import models_dir

ROOT = Path(__file__).resolve().parents[1]
NAMES = [name for name in donkey_aicc.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_documented(name):
    what = getattr(donkey_aicc, name)
    said = inspect.getdoc(what)
    section = re.search(r"^Args:\n((?:    .*\n|\n)+)", said + "\n", re.MULTILINE)
    described = dict(re.findall(r"^    (\w+): (.+)", section[1], re.MULTILINE))
    parameters = [each for each in inspect.signature(what).parameters if each not in ("self", "args", "kwargs")]
    assert list(described) == parameters, "in the order of the call"
    assert all(len(text.split()) >= 3 for text in described.values())


@pytest.mark.parametrize("name", NAMES)
def test_its_example_runs(name, tmp_path, monkeypatch, own_registries):
    monkeypatch.chdir(tmp_path)
    what = getattr(donkey_aicc, name)
    found = doctest.DocTestFinder(recurse=False).find(what, name, globs={})
    tests = [test for test in found if test.examples]
    assert tests, f"{name} shows no example"
    names = {"np": np, "reference": models_dir() / "reference", "folder": tmp_path}
    out = []
    for test in tests:
        test.globs = names
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
        assert runner.run(test, out=out.append).failed == 0, "".join(out)


def test_about_fifteen_names():
    assert len(NAMES) <= 18


def test_make_api_writes_a_page_of_them(tmp_path):
    pytest.importorskip("pdoc")
    assert runpy.run_path(str(ROOT / "docs/make_api.py"))["main"](tmp_path) == 0
    page = (tmp_path / "donkey_aicc.html").read_text(encoding="utf-8")
    assert [name for name in NAMES if f'id="{name}"' not in page] == []
