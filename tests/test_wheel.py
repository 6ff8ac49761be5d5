"""A wheel built from the repository works by itself: command, template, models and pages come from it."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.car_under_test import only_tub, read_tub, write_settings

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "donkey_aicc", "mycar_template", "models")


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that sees nothing of the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that no build/ folder appears in the checkout."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    pip_wheel = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    run(*pip_wheel, "-w", out, copy, cwd=copy)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The bin folder of an empty environment that holds our wheel; the libraries are borrowed from this one."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(home), "platbase": str(home)}))
    # A plain path: it comes last, and the .pth files in it, which lead to the checkout, are not read.
    (site / "borrowed_libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip_install = (sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "-q", "--no-deps", "--no-index")
    run(*pip_install, "--ignore-installed", wheel, cwd=home)
    return home / "bin"


def shipped_files() -> set[str]:
    """Where each file of the checkout must be in the wheel."""
    homes = {"donkey_aicc": "donkey_aicc", "mycar_template": "donkey_aicc/mycar_template", "models": "donkey_aicc/models"}
    return {
        f"{home}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, home in homes.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == shipped_files()


def test_the_command_works_from_the_wheel(installed, tmp_path):
    assert "createcar" in run(installed / "donkey-aicc", "--help", cwd=tmp_path)
    where = run(installed / "python", "-c", "import donkey_aicc; print(donkey_aicc.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)


def test_template_and_models_are_found_in_the_wheel(installed, tmp_path):
    code = "from donkey_aicc.resources import models_dir, template_dir; print(template_dir()); print(models_dir())"
    template, models = map(Path, run(installed / "python", "-c", code, cwd=tmp_path).split())
    assert template.is_relative_to(installed.parent)
    assert models.is_relative_to(installed.parent)
    assert {"manage.py", "config.py", "myconfig.py"} <= {path.name for path in template.iterdir()}


def test_a_car_can_be_made_from_the_wheel(installed, tmp_path):
    run(installed / "donkey-aicc", "createcar", "--path", tmp_path / "car", cwd=tmp_path)
    assert (tmp_path / "car" / "manage.py").is_file()


LOOPS = 300
NOT_ON_A_CAR = {"torch", "scipy", "scikit-learn", "matplotlib", "onnx"}
SAME = ("aicc/rho", "aicc/delta", "aicc/p_tta", "aicc/confidence")


@pytest.mark.slow
def test_an_environment_without_torch_drives_as_one_with_it(wheel, tmp_path):
    """A real environment with what `pip install` brings; needs a package index. tests/car/test_without_torch.py needs none."""
    venv.create(tmp_path / "environment", with_pip=True)
    without = tmp_path / "environment" / "bin"
    pip = subprocess.run(
        [without / "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel], capture_output=True, check=False
    )
    if pip.returncode:
        pytest.skip(f"no package index: {pip.stderr.decode()[-200:]}")
    listed = json.loads(run(without / "pip", "list", "--format", "json", cwd=tmp_path))
    assert not NOT_ON_A_CAR & {each["name"].lower() for each in listed}
    tubs = []
    for name, python in (("without", without / "python"), ("with", Path(sys.executable))):
        car = tmp_path / name
        run(without / "donkey-aicc", "createcar", "--path", car, cwd=tmp_path)
        write_settings(car, MAX_LOOPS=LOOPS, AICC_BUNDLE=str(ROOT / "models" / "reference"))
        run(python, "manage.py", "drive", "--headless", "--fast", cwd=car)
        tubs.append(read_tub(only_tub(car))[0])
    ours, theirs = tubs
    assert len(ours) == len(theirs) == LOOPS and ours[-1]["aicc/status"] == theirs[-1]["aicc/status"]
    for name in SAME:
        for one, other in zip(ours, theirs, strict=True):
            assert one[name] == pytest.approx(other[name], abs=1e-4), name


def test_the_checkout_finds_its_own_folders():
    from donkey_aicc.resources import models_dir, template_dir

    assert template_dir() == ROOT / "mycar_template"
    assert models_dir() == ROOT / "models"
