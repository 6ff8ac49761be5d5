"""Score table -> confidence: one file per calibrator, one interface (`base.Calibrator`)."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "AnomalyTemperature": "anomaly_temperature",
    "Calibrator": "base",
    "CautiousTemperature": "cautious",
    "DensityAwareCalibration": "dac",
    "RobustTemperature": "robust",
    "ScoreStatistics": "statistics",
    "TemperatureScaling": "temperature",
    "load_calibrator": "calibrator_file",
    "make_calibrator": "catalogue",
    "save_calibrator": "calibrator_file",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
