"""Anomaly-informed confidence for DonkeyCar safety prediction.

Names are loaded on first use, so that importing the package stays cheap on a Raspberry Pi.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "AnomalyInjector": "donkey_aicc.parts.anomaly_injector",
    "InjectionControl": "donkey_aicc.parts.injection_control",
    "SafetyPredictor": "donkey_aicc.parts.safety_predictor",
    "TTA": "donkey_aicc.parts.safety_predictor",
    "WorldModelScorer": "donkey_aicc.parts.world_model_scorer",
    "AnomalyCalibrator": "donkey_aicc.parts.anomaly_calibrator",
    "DepartureAlarm": "donkey_aicc.parts.departure_alarm",
    "SafetyGovernor": "donkey_aicc.parts.safety_governor",
    "UnsafeMark": "donkey_aicc.parts.unsafe_mark",
    "register_fault": "donkey_aicc.faults.own_faults",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'donkey_aicc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
