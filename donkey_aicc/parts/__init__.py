"""Thin donkeycar parts: state in __init__, one run, the work elsewhere."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "AnomalyCalibrator": "anomaly_calibrator",
    "AnomalyInjector": "anomaly_injector",
    "DepartureAlarm": "departure_alarm",
    "FrameIntake": "frame_intake",
    "GovernorPolicy": "safety_governor",
    "InjectionButtons": "injection_control",
    "InjectionControl": "injection_control",
    "NewestScores": "monitor_status",
    "SafetyGovernor": "safety_governor",
    "SafetyPredictor": "safety_predictor",
    "TTA": "safety_predictor",
    "UnsafeMark": "unsafe_mark",
    "WorldModelScorer": "world_model_scorer",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
