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
    """A folder of the user's, or a shipped bundle by its name; raises AiccError that tells what names there are."""
    path = Path(name).expanduser()
    if path.exists():
        return path
    shipped = shipped_bundles()
    if name not in shipped:
        names = ", ".join(shipped) or "none is shipped"
        raise AiccError(f"no bundle at {name}: give a folder made by donkey-aicc train, or a shipped one: {names}")
    return models_dir() / name


def known_bundle(name: str) -> Manifest:
    """The manifest behind a name."""
    return read_manifest(bundle_path(name))


def trained_in_simulator(manifest: Manifest) -> bool:
    """Whether the drives behind the bundle are a simulator's; bundles of our own study say so by their `experiment`."""
    return "experiment" in manifest.data or bool(manifest.data.get("simulated"))


def safe_in_words(manifest: Manifest) -> str:
    """What the drives behind the bundle called safe: a probability means nothing without it."""
    if not manifest.has_predictor:
        return ""
    if manifest.tau is None:
        return "as labelled in its training"
    if not trained_in_simulator(manifest):
        return f"cte within {manifest.tau:.3g} of {manifest.cte_centre:.3g}"
    return f"within {100 * manifest.tau:.0f} cm of the centre"


def simulator_warning(name: str, manifest: Manifest) -> str | None:
    """What to say when this bundle goes on a real car; None if it was not trained in a simulator."""
    if not trained_in_simulator(manifest):
        return None
    return (
        f"WARNING: the bundle {name} was trained in the simulator. On a real car its scores and its confidence mean nothing: "
        "record drives of your own and train one (donkey-aicc train), or set AICC_BUNDLE = None"
    )
