"""Every calibrator by name: the rows of the evaluation, and loading one from JSON."""

from collections.abc import Callable
from typing import Any

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.cautious import CautiousTemperature
from donkey_aicc.calibration.controls import ConstantBaseRate, PooledTemperature, UniformHeating, UniformShift
from donkey_aicc.calibration.dac import DensityAwareCalibration
from donkey_aicc.calibration.histogram import HistogramBinning
from donkey_aicc.calibration.isotonic import IsotonicCalibration
from donkey_aicc.calibration.none import Uncalibrated
from donkey_aicc.calibration.platt import PlattScaling
from donkey_aicc.calibration.shrinkage import Shrinkage
from donkey_aicc.calibration.temperature import TemperatureScaling
from donkey_aicc.errors import AiccError, one_of

KINDS: dict[str, type[Calibrator]] = {
    kind.kind: kind
    for kind in (
        Uncalibrated,
        TemperatureScaling,
        PlattScaling,
        IsotonicCalibration,
        HistogramBinning,
        DensityAwareCalibration,
        Shrinkage,
        AnomalyTemperature,
        CautiousTemperature,
        ConstantBaseRate,
        PooledTemperature,
        UniformHeating,
        UniformShift,
    )
}

BASELINES = ("none", "temperature", "platt", "isotonic", "histogram", "dac")
ABLATION = ("shrinkage", "no_tta", "tta", "tta_delta", "tta_rho", "tta_rho_delta")
FURTHER = ("tta_rho_two_sided", "tta_latent", "aicc_plus_heat", "aicc_plus")
CONTROLS = ("base_rate", "pooled_temperature", "uniform_heating", "uniform_shift")
OURS = "tta_rho_delta"

_ROWS: dict[str, Callable[[], Calibrator]] = {
    "none": Uncalibrated,
    "temperature": TemperatureScaling,
    "platt": PlattScaling,
    "isotonic": IsotonicCalibration,
    "histogram": HistogramBinning,
    "dac": DensityAwareCalibration,
    "shrinkage": Shrinkage,
    "no_tta": lambda: AnomalyTemperature("no_tta", "rho + delta, no TTA", uses_tta=False),
    "tta": lambda: AnomalyTemperature("tta", "TTA", score_names=()),
    "tta_delta": lambda: AnomalyTemperature("tta_delta", "TTA + delta", score_names=("delta",)),
    "tta_rho": lambda: AnomalyTemperature("tta_rho", "TTA + rho", score_names=("rho",)),
    "tta_rho_delta": AnomalyTemperature,
    "tta_rho_two_sided": lambda: AnomalyTemperature("tta_rho_two_sided", "TTA + |rho|", score_names=("rho_two_sided",)),
    "tta_latent": lambda: AnomalyTemperature("tta_latent", "TTA + latent distance", score_names=("latent",)),
    "aicc_plus_heat": lambda: CautiousTemperature("aicc_plus_heat", "AICC+ without the presumption", safe_share_left=1.0),
    "aicc_plus": CautiousTemperature,
    "base_rate": ConstantBaseRate,
    "pooled_temperature": PooledTemperature,
    "uniform_heating": UniformHeating,
    "uniform_shift": UniformShift,
}
ROW_NAMES = tuple(_ROWS)


def make_calibrator(name: str) -> Calibrator:
    """An unfitted calibrator of one named row."""
    one_of("calibrator", name, ROW_NAMES)
    return _ROWS[name]()


def calibrator_from_json(stored: dict[str, Any]) -> Calibrator:
    """The fitted calibrator that `to_json` described."""
    kind = stored.get("kind") if isinstance(stored, dict) else None
    if kind not in KINDS:
        raise AiccError(f"calibrator kind must be one of {', '.join(KINDS)}; got {kind!r}")
    return KINDS[kind].from_json(stored)
