"""The Makefile without a Python 3.11, and its list of targets."""

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
    assert {"demo", "test", "test-slow", "bench", "lint", "format", "clean", "help"} <= listed


def test_without_python_311_it_says_how_to_get_one(tmp_path):
    for name in ("Makefile", "setup.py", "constraints.txt", "constraints.lock"):
        shutil.copy(ROOT / name, tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    os.symlink("/bin/sh", tools / "sh")
    for name in ("python3.11", "python3", "python"):  # like a pyenv shim: there, but it fails
        (tools / name).write_text("#!/bin/sh\necho 'command not found' >&2\nexit 127\n")
        (tools / name).chmod(0o755)
    result = make("lint", "PYTHON=python3.99", cwd=tmp_path, path=str(tools))
    assert result.returncode != 0
    assert "PYTHON=python3.99 is not a usable Python 3.11" in result.stdout
    assert "needs Python 3.11" in result.stdout
    assert "apt install python3.11" in result.stdout
    assert not (tmp_path / ".venv").exists()


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
