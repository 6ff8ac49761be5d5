"""The tests on newer Pythons with numpy 2, without donkeycar, which does not run there yet: make test-next.

    .venv/bin/python .ci/test_next.py [3.12 3.13] [-- PYTEST OPTIONS]

Makes .venv-next-<version> once per version and skips a version whose interpreter is not here. Tests that need donkeycar are
counted as skipped (tests/without_donkeycar.py). PyPI's torch for Linux brings 5 GB of CUDA; to spare that, name another index:
PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.12", "3.13")
OF_DONKEYCAR = ("tornado", "docopt", "psutil")  # which we use too, and which it would have brought
NOT_NEEDED = ("donkeycar", "ruff", "mypy", "build", "playwright", "axe-playwright-python")


def interpreter(version: str) -> str | None:
    """On the path, or among pyenv's."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0:
        return found
    return next((str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))), None)


def requirements() -> list[str]:
    """All that setup.py names for development, but what is not needed here."""
    import importlib.metadata

    found = [text.split(";") for text in importlib.metadata.requires("donkey_aicc") or []]
    wanted = [need.strip() for need, *marker in found if not marker or '"dev"' in marker[0]]
    return [need for need in wanted if re.split(r"[<>=!~ \[]", need)[0] not in NOT_NEEDED]


def fill(home: Path, python: str) -> None:
    subprocess.run([python, "-m", "venv", str(home)], check=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "numpy>=2", *OF_DONKEYCAR, *requirements()], check=True)
    (home / ".filled").touch()


def main(arguments: list[str]) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options, failed = arguments[cut + 1 :], []
    for version in arguments[:cut] or VERSIONS:
        python, home = interpreter(version), ROOT / f".venv-next-{version}"
        if python is None:
            print(f"== no Python {version} here: skipped")
            continue
        if not (home / ".filled").is_file():
            print(f"== Making {home.name}", flush=True)
            fill(home, python)
        print(f"== Testing on Python {version}", flush=True)
        tests = [str(home / "bin" / "python"), "-m", "pytest", "-p", "tests.without_donkeycar", *options]
        found_by_all = os.environ | {"PYTHONPATH": str(ROOT)}  # the package is not installed there
        if subprocess.run(tests, cwd=ROOT, env=found_by_all, check=False).returncode:
            failed.append(version)
    if failed:
        print(f"failed on Python {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
