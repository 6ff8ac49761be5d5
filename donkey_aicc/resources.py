"""Where the shipped folders are: beside the package in a checkout, inside it in an installed wheel."""

from pathlib import Path

from donkey_aicc.errors import AiccError

_PACKAGE = Path(__file__).resolve().parent


def template_dir() -> Path:
    """The folder with the car's manage.py, config.py and myconfig.py."""
    return _shipped_folder("mycar_template")


def models_dir() -> Path:
    """The folder with the shipped models, one sub-folder or file per model."""
    return _shipped_folder("models")


def install_line(extra: str) -> str:
    """The command that adds an extra: from the checkout that runs, else from the folder that it was installed from."""
    checkout = _PACKAGE.parent
    folder = str(checkout) if (checkout / "setup.py").is_file() else "FOLDER"
    note = "" if folder != "FOLDER" else ", with FOLDER the checkout of donkey_aicc, because it is on no package index yet"
    return f"pip install '{folder}[{extra}]'{note}"


def _shipped_folder(name: str) -> Path:
    checkout = _PACKAGE.parent
    # Only a checkout has setup.py: in site-packages a folder called `models` would be somebody else's.
    homes = [_PACKAGE / name, checkout / name] if (checkout / "setup.py").is_file() else [_PACKAGE / name]
    for folder in homes:
        if folder.is_dir():
            return folder
    places = " and ".join(str(folder) for folder in homes)
    raise AiccError(f"the shipped folder {name} is missing (looked in {places}); install donkey_aicc again")
