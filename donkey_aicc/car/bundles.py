"""Bundles by name or folder, and whether one fits the car it is put on."""

from pathlib import Path
from typing import Any

from donkey_aicc.car.config import AiccConfig
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.manifest import MANIFEST, WEIGHT_FILES, Manifest, read_manifest
from donkey_aicc.resources import models_dir
from donkey_aicc.simulator.unity_scenes import scene_of_env
from donkey_aicc.tubs.home import EMBEDDED, REAL_CAR, is_at_home, unity_scene

WITHOUT = (
    "the monitor runs in learning mode: it warns of a dark, frozen, plain or lost picture at once, and of what differs from the "
    "first four laps after them; a trained bundle adds scores, the number and the look ahead"
)


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


def homes_of(manifest: Manifest) -> list[str]:
    """In which worlds its drives were driven; none where it does not say. Bundles of our own study have an `experiment`."""
    if "experiment" in manifest.data:
        return [EMBEDDED]
    said = manifest.data.get("homes")
    return [str(home) for home in said] if isinstance(said, list) else []


def home_of_car(config: AiccConfig, cfg: Any) -> str:
    """The world that a car with these settings drives in."""
    if config.sim:
        return EMBEDDED
    return (
        unity_scene(scene_of_env(str(getattr(cfg, "DONKEY_GYM_ENV_NAME", "")))) if getattr(cfg, "DONKEY_GYM", False) else REAL_CAR
    )


def safe_in_words(manifest: Manifest) -> str:
    """What the drives behind the bundle called safe: a probability means nothing without it."""
    if not manifest.has_predictor:
        return ""
    if manifest.tau is None:
        return "as labelled in its training"
    if homes_of(manifest) != [EMBEDDED]:
        return f"cte within {manifest.tau:.3g} of {manifest.cte_centre:.3g}"
    return f"within {100 * manifest.tau:.0f} cm of the centre"


def foreign_warning(name: str, manifest: Manifest, here: str) -> str | None:
    """What to say when this bundle is to judge drives in another world than its own; None if it is at home."""
    homes = homes_of(manifest)
    if not homes or is_at_home(homes, here):
        return None
    return (
        f"WARNING: the bundle {name} was trained in {' and '.join(homes)}, and this is {here}. Its scores and its confidence "
        "mean nothing here: record drives of your own and train one (donkey-aicc train), or set AICC_BUNDLE = None"
    )
