"""Score table -> confidence: one interface (`base.Calibrator`), calibrators of one kind in one file."""

from donkey_aicc.lazy import lazy_names

_HOMES = {
    "AnomalyTemperature": "anomaly_temperature",
    "Calibrator": "base",
    "CautiousTemperature": "cautious",
    "DensityAwareCalibration": "temperature",
    "RobustTemperature": "robust",
    "TemperatureScaling": "temperature",
    "load_calibrator": "calibrator_file",
    "make_calibrator": "catalogue",
    "save_calibrator": "calibrator_file",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
