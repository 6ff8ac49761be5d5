"""Pages: small web servers and their static files."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "CockpitFeed": "cockpit_exchange",
    "CockpitHub": "cockpit_hub",
    "Page": "page_server",
    "make_server": "page_server",
    "serve": "page_server",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
