"""Importing the package and asking for help stay cheap: nothing heavy is loaded until something needs it."""

import subprocess
import sys
from pathlib import Path

import pytest

import donkey_aicc

HEAVY = ("torch", "scipy", "sklearn", "matplotlib", "pandas")


@pytest.mark.parametrize(
    "name", ["donkey_aicc", "cli", "parts", "car.wiring", "calibration", "simulator.world", "replay.read_run", "tubs.load"]
)
def test_import_loads_nothing_heavy(name):
    module = name if name == "donkey_aicc" else f"donkey_aicc.{name}"
    # A process of its own: the test run itself has long loaded all of them.
    code = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


PACKAGE = Path(__file__).resolve().parents[1] / "donkey_aicc"


def test_every_public_name_can_be_loaded():
    assert donkey_aicc.__all__ and set(donkey_aicc.__all__) <= set(dir(donkey_aicc))
    for name in donkey_aicc.__all__:
        assert getattr(donkey_aicc, name) is not None
        assert name not in {path.stem for path in PACKAGE.glob("*.py")}, "once imported, the file hides the name"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = donkey_aicc.no_such_name


def test_every_folder_with_code_is_a_package():
    # Without __init__.py a folder still imports here, but is no package for setuptools and mypy.
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
