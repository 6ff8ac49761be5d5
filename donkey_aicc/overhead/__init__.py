"""Labels for a real car from a camera above the track: video and setup file in, cross-track error per tub record out."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "OverheadSetup": "setup_file",
    "label_tub": "labelling",
    "load_setup": "setup_file",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
