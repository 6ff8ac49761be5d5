"""Corruptions and faults: (array, severity, rng) -> array; the test protocols and the calibrator's training families."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "Episode": "fault",
    "Fault": "fault",
    "PROTOCOLS": "protocols",
    "augment": "d_aug",
    "corrupt": "corruptions",
    "make_fault": "fault",
    "parse_schedule": "fault",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
