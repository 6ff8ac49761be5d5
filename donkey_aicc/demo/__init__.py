"""`make demo`: a car made, driven and looked at, with nothing but this package."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "RecordedDrive": "recorded_drive",
    "read_drive": "recorded_drive",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
