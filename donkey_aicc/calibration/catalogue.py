"""Every calibrator by name: the rows of the evaluation, and loading one from JSON."""

from collections.abc import Callable
from typing import Any

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.base import Calibrator, ScoresOnly
from donkey_aicc.calibration.controls import ConstantBaseRate, OnlineRecalibration, PooledTemperature, UniformHeating
from donkey_aicc.calibration.per_horizon import HistogramBinning, IsotonicCalibration, PlattScaling, Uncalibrated, VennAbers
from donkey_aicc.calibration.shrinkage import Shrinkage
from donkey_aicc.calibration.temperature import AUTHORS, DensityAwareCalibration, EnsembleTemperature, TemperatureScaling
from donkey_aicc.errors import AiccError, one_of

KINDS: dict[str, type[Calibrator]] = {
    kind.kind: kind
    for kind in (
        Uncalibrated,
        TemperatureScaling,
        PlattScaling,
        IsotonicCalibration,
        HistogramBinning,
        EnsembleTemperature,
        VennAbers,
        DensityAwareCalibration,
        Shrinkage,
        AnomalyTemperature,
        ConstantBaseRate,
        PooledTemperature,
        UniformHeating,
        OnlineRecalibration,
        ScoresOnly,
    )
}

BASELINES = ("none", "temperature", "platt", "isotonic", "histogram", "dac")  # the paper's
MORE_BASELINES = ("ets", "venn_abers", "dac_authors", "dac_fitted")  # what a reviewer would ask for
ABLATION = ("shrinkage", "no_tta", "tta", "tta_delta", "tta_rho", "tta_rho_delta")
FURTHER = ("tta_rho_two_sided", "tta_log_rho", "tta_log_rho_delta", "light", "tta_latent")
CONTROLS = ("base_rate", "pooled_temperature", "uniform_heating")
LABELLED = ("online",)  # need labels while driving: no method for a car
OURS = "tta_rho_delta"  # the paper's method
DEFAULT_METHOD = OURS  # what `calibrate` fits unless told otherwise

_ROWS: dict[str, Callable[[], Calibrator]] = {
    "none": Uncalibrated,
    "temperature": TemperatureScaling,
    "platt": PlattScaling,
    "isotonic": IsotonicCalibration,
    "histogram": HistogramBinning,
    "ets": EnsembleTemperature,
    "venn_abers": VennAbers,
    "dac": DensityAwareCalibration,
    "dac_authors": lambda: DensityAwareCalibration("dac_authors", "DAC (authors' code)", normalised=AUTHORS),
    "dac_fitted": lambda: AnomalyTemperature("dac_fitted", "DAC, fitted weight", uses_tta=False, score_names=(AUTHORS,)),
    "shrinkage": Shrinkage,
    "no_tta": lambda: AnomalyTemperature("no_tta", "rho + delta, no TTA", uses_tta=False),
    "tta": lambda: AnomalyTemperature("tta", "TTA", score_names=()),
    "tta_delta": lambda: AnomalyTemperature("tta_delta", "TTA + delta", score_names=("delta",)),
    "tta_rho": lambda: AnomalyTemperature("tta_rho", "TTA + rho", score_names=("rho",)),
    "tta_rho_delta": AnomalyTemperature,
    "tta_rho_two_sided": lambda: AnomalyTemperature("tta_rho_two_sided", "TTA + |rho|", score_names=("rho_two_sided",)),
    "tta_log_rho": lambda: AnomalyTemperature("tta_log_rho", "TTA + |log rho|", score_names=("log_rho",)),
    "tta_log_rho_delta": lambda: AnomalyTemperature(
        "tta_log_rho_delta", "TTA + |log rho| + held-out delta", score_names=("log_rho", "delta_held_out")
    ),
    "light": lambda: AnomalyTemperature("light", "Light grade: no dynamics net", score_names=("log_rho", "control")),
    "tta_latent": lambda: AnomalyTemperature("tta_latent", "TTA + latent distance", score_names=("latent",)),
    "base_rate": ConstantBaseRate,
    "pooled_temperature": PooledTemperature,
    "uniform_heating": UniformHeating,
    "online": OnlineRecalibration,
}
ROW_NAMES = tuple(_ROWS)
DRIVABLE = tuple(name for name in ROW_NAMES if name not in LABELLED)  # what a car can use


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
