"""Anomaly-informed confidence for DonkeyCar safety prediction.

These are the public names; everything else may change without notice. docs/extend.md shows what to do with them. They are loaded
on first use, so that importing the package stays cheap on a Raspberry Pi.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> module that defines it
_HOMES: dict[str, str] = {
    # models, and what they say about pictures and numbers
    "Bundle": "donkey_aicc.nets.bundle",
    "load_calibrator": "donkey_aicc.calibration.calibrator_file",
    "score_pictures": "donkey_aicc.replay.score_pictures",
    "fit_confidence": "donkey_aicc.calibration.from_arrays",
    "Confidence": "donkey_aicc.calibration.from_arrays",
    # the monitor in a drive loop
    "add_aicc": "donkey_aicc.car.wiring",
    "MonitorLoop": "donkey_aicc.car.monitor_loop",
    "SafetyPredictor": "donkey_aicc.parts.safety_predictor",
    "TTA": "donkey_aicc.parts.safety_predictor",
    "WorldModelScorer": "donkey_aicc.parts.world_model_scorer",
    "AnomalyCalibrator": "donkey_aicc.parts.anomaly_calibrator",
    # one's own
    "register_predictor": "donkey_aicc.nets.own_predictor",
    "use_predictor": "donkey_aicc.nets.use_predictor",
    "OnnxPredictor": "donkey_aicc.nets.own_predictor",
    "register_score": "donkey_aicc.scoring.own_scores",
    "register_calibrator": "donkey_aicc.calibration.catalogue",
    "Calibrator": "donkey_aicc.calibration.base",
    "register_fault": "donkey_aicc.faults.own_faults",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'donkey_aicc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
