"""Labels by looking: a person answers some dozens of frames, a quick classifier says the rest where it is sure."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "LabelSession": "session",
    "Footage": "footage",
    "propose": "proposal",
    "write_labels": "session",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
