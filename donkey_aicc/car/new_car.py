"""A car folder from our template."""

import shutil
from pathlib import Path

from donkey_aicc.errors import AiccError
from donkey_aicc.resources import template_dir

FOLDERS = ("data", "models", "logs")
FILES = ("manage.py", "config.py", "myconfig.py")
OLD_SETTINGS = "myconfig.py.before-overwrite"


def has_car(path: str | Path) -> bool:
    """Whether all files of a car are there already."""
    return all((Path(path).expanduser() / name).is_file() for name in FILES)


def create_car(path: str | Path, overwrite: bool = False) -> Path:
    """Make the car's folder and fill it; existing files are kept unless `overwrite`. Returns the folder."""
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
