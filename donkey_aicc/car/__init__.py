"""Our parts in a car: where they go in the loop, what the template needs, how a car gets them."""

from donkey_aicc.lazy import lazy_names

_HOMES = {"AiccConfig": "config", "add_aicc": "wiring", "create_car": "install_parts", "plain_errors": "start_checks"}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
