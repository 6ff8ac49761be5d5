"""The Makefile: which Python it takes, what it says without one, and its list of targets."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str, cwd: Path = ROOT, path: str | None = None) -> subprocess.CompletedProcess:
    # MAKEFLAGS of the `make test` that runs us must not reach the inner make.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON", "VENV"))}
    if path is not None:
        environment["PATH"] = path
    command = [str(shutil.which("make")), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_help_lists_the_targets():
    listed = {line.split()[1] for line in make("help").stdout.splitlines()}
    assert {"demo", "test", "test-slow", "test-all", "test-arm64", "bench", "lint", "format", "clean", "help"} <= listed


@pytest.fixture
def checkout(tmp_path):
    """What `make` needs before it has an environment, and an empty home: no pyenv."""
    for name in ("Makefile", "setup.py", "constraints.txt", "constraints.lock"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    return tmp_path


def tools(folder: Path, **pythons: str) -> str:
    """A path with the few commands that the set-up uses, and scripts in place of Pythons."""
    folder.mkdir()
    for name in ("sh", "ls", "sort", "sed", "rm", "cp", "mkdir", "touch", "awk", "uname", "chmod"):
        os.symlink(str(shutil.which(name)), folder / name)
    for name in ("python3.13", "python3.12", "python3.11", "python3", "python"):
        # Like a pyenv shim: there, but it fails.
        script = pythons.get(name.replace(".", "_"), "echo 'command not found' >&2; exit 127")
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_without_a_supported_python_it_says_how_to_get_one(checkout):
    result = make("lint", "PYTHON=python3.99", f"PYENV_ROOT={checkout}", cwd=checkout, path=tools(checkout / "tools"))
    assert result.returncode != 0
    assert "PYTHON=python3.99 is not a usable Python (3.13, 3.12, 3.11)" in result.stdout
    assert "needs Python 3.13, 3.12, 3.11 with its venv module" in result.stdout
    assert "apt install python3" in result.stdout
    assert not (checkout / ".venv").exists()


def python(version: str, fills: bool) -> str:
    """A script that answers as a Python of this version would; an environment of it can be filled or not."""
    return f"""case "$*" in
  *ensurepip*) case "$*" in *{version}*) exit 0 ;; *) exit 1 ;; esac ;;
  --version) echo "Python {version}.0" ;;
  "-m venv"*) mkdir -p "$3/bin"; touch "$3/pyvenv.cfg"; cp "$0" "$3/bin/python" ;;
  *urllib*) exit 1 ;;
  *pip*) exit {0 if fills else 1} ;;
esac"""


def test_the_newest_that_can_be_filled_is_taken(checkout):
    path = tools(checkout / "tools", python3_13=python("3.13", fills=False), python3_12=python("3.12", fills=True))
    result = make("lint", f"PYENV_ROOT={checkout}", cwd=checkout, path=path)
    said = [line for line in result.stdout.splitlines() if line.startswith("==")]
    assert [line.split(" (")[0] for line in said if "Making" in line] == [
        "== Making .venv with Python 3.13.0",
        "== Making .venv with Python 3.12.0",
    ]
    assert "== .venv could not be filled with Python 3.13" in said
    assert (checkout / ".venv" / ".filled").is_file()


def test_the_python_that_is_asked_for_is_the_one(checkout):
    path = tools(checkout / "tools", python3_13=python("3.13", fills=True), python3_11=python("3.11", fills=True))
    for asked, made in (("3.11", "Python 3.11.0"), ("python3.13", "Python 3.13.0"), ("3.11", "Python 3.11.0")):
        (checkout / ".venv" / ".filled").unlink(missing_ok=True)
        result = make("lint", f"PYTHON={asked}", f"PYENV_ROOT={checkout}", cwd=checkout, path=path)
        assert f"== Making .venv with {made}" in result.stdout


def test_clean_removes_only_what_can_be_made_again(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("build", "demo_output", "donkey_aicc/__pycache__", ".venv", "not_a_venv"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "donkey_aicc" / "files.py").write_text("")
    assert make("clean", cwd=tmp_path).returncode == 0
    assert make("clean", "VENV=not_a_venv", cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "donkey_aicc", "not_a_venv"]
    assert [path.name for path in (tmp_path / "donkey_aicc").iterdir()] == ["files.py"]
