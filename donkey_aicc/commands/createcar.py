"""donkey-aicc createcar: a car folder from our template."""

import argparse
import shutil
from pathlib import Path

from donkey_aicc.errors import AiccError

FOLDERS = ("data", "models", "logs")
FILES = ("manage.py", "config.py", "myconfig.py")
OLD_SETTINGS = "myconfig.py.before-overwrite"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--path", default="~/mycar", help="the folder to make (default: ~/mycar)")
    parser.add_argument("--overwrite", action="store_true", help=f"replace existing files; old settings stay as {OLD_SETTINGS}")


def run(args: argparse.Namespace) -> int:
    folder = create_car(args.path, args.overwrite)
    print(f"Drive it:  cd {folder} && python manage.py drive")
    return 0


def create_car(path: str | Path, overwrite: bool = False) -> Path:
    """Make the car's folder and fill it; existing files are kept unless `overwrite`. Returns the folder."""
    from donkey_aicc.resources import template_dir

    folder = Path(path).expanduser()
    template = template_dir()
    try:
        for name in FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in FILES:
            _put(template / name, folder / name, overwrite)
    except OSError as error:
        raise AiccError(f"the car's folder {folder} cannot be made: {error}") from error
    (folder / "manage.py").chmod(0o755)
    return folder


def _put(source: Path, target: Path, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        print(f"kept {target}")
        return
    if target.exists() and target.name == "myconfig.py":
        shutil.copy2(target, target.with_name(OLD_SETTINGS))
    shutil.copyfile(source, target)
    print(f"wrote {target}")
