"""The embedded simulator: a seeded, lock-step world with a track, a car and its camera."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "Camera": "camera",
    "CameraConfig": "camera",
    "DrivePlan": "record_drives",
    "Expert": "drivers",
    "SimulatorPart": "driving",
    "Track": "track",
    "World": "world",
    "make_track": "tracks",
    "record": "record_drives",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
