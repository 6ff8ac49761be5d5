"""Replay: a recorded drive looked at again, on a page or in a file to send on."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "Run": "run",
    "find_events": "run",
    "write_html": "replay_page",
    "write_movie": "movie",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
