"""Bundles by name or folder, and whether one fits the car it is put on."""

from pathlib import Path

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.manifest import MANIFEST, WEIGHT_FILES, Manifest, read_manifest
from donkey_aicc.resources import models_dir

WITHOUT = "without a bundle there is no monitor: no scores, no confidence, no alarm; faults, marks and the cockpit work"


def shipped_bundles() -> list[str]:
    """Names of the bundles that come with the package."""
    return sorted(
        each.parent.name for each in models_dir().glob(f"*/{MANIFEST}") if (each.parent / WEIGHT_FILES["vae"]).is_file()
    )


def bundle_path(name: str) -> Path:
    """A folder of the user's, or a shipped bundle by its name."""
    path = Path(name).expanduser()
    return models_dir() / name if not path.exists() and name in shipped_bundles() else path


def known_bundle(name: str) -> Manifest:
    """The manifest behind a name, or an error that tells what names there are."""
    path = bundle_path(name)
    if not path.exists():
        raise AiccError(f"no bundle {name!r}: give a folder made by donkey-aicc train, or a shipped one: {_names()}")
    return read_manifest(path)


def _names() -> str:
    return ", ".join(shipped_bundles()) or "none is shipped"


def trained_in_simulator(manifest: Manifest) -> bool:
    """Whether the drives behind the bundle are a simulator's; bundles of our own study say so by their `experiment`."""
    return "experiment" in manifest.data or bool(manifest.data.get("simulated"))


def simulator_warning(name: str, manifest: Manifest) -> str | None:
    """What to say when this bundle goes on a real car; None if it was not trained in a simulator."""
    if not trained_in_simulator(manifest):
        return None
    return (
        f"WARNING: the bundle {name} was trained in the simulator. On a real car its scores and its confidence mean nothing: "
        "record drives of your own and train one (donkey-aicc train), or set AICC_BUNDLE = None"
    )
