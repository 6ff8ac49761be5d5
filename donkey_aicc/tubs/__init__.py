"""Tubs to sequences, labels and splits."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "Drive": "drive",
    "load_drives": "load",
    "make_drive": "drive",
    "read_label_csv": "labels",
    "split_sequences": "splits",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
