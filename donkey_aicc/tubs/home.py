"""Where a drive was driven: in tubs and bundles, compared at the start, for a monitor knows only the world of its own drives."""

from collections.abc import Iterable, Mapping
from typing import Any

from donkey_aicc import channels

REAL_CAR, EMBEDDED, UNITY = "a real car", "the embedded simulator", "the Unity simulator"
SCENE, TRACK = "scene", "track"  # keys of a tub's metadata


def unity_scene(scene: str) -> str:
    """The home of drives in a scene; '' where it is not known."""
    return f"{UNITY}, {scene}" if scene else UNITY


def home_of_tub(metadata: Mapping[str, Any], keys: Iterable[str]) -> str:
    """keys: channels of its records. Only simulators record where the car is."""
    if SCENE in metadata:
        return unity_scene(str(metadata[SCENE]))
    if TRACK in metadata:
        return EMBEDDED
    return UNITY if set(channels.LOCATION) & set(keys) else REAL_CAR


def is_at_home(homes: Iterable[str], here: str) -> bool:
    """Drives in a scene that nobody named may be of any."""
    return any(here == home or home == UNITY and here.startswith(UNITY) for home in homes)
