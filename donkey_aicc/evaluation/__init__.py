"""Score tables -> numbers, tables and pictures."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "Measured": "metrics",
    "auroc": "metrics",
    "brier": "metrics",
    "ece_top_label": "metrics",
    "evaluate": "study",
    "horizon_average": "metrics",
    "nll": "metrics",
    "write_report": "report",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
