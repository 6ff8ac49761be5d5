"""The alarm: signs of a frame -> evidence -> level, hazard and reason. docs/architecture.md has its design on one page."""

from donkey_aicc.lazy import lazy_names

_HOMES = {"AlarmModel": "alarm_model", "AlarmStream": "alarm_model", "fit_alarm": "alarm_fit"}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
