"""Every calibrator by name: the rows of the evaluation, those of users and other packages, and loading one from JSON.

A name may go on with further scores: `tta_rho_delta+glare` is that row with the user's own score `glare` among its scores.
"""

import re
from collections.abc import Callable
from typing import Any

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature, RestoredTemperature
from donkey_aicc.calibration.base import P_SAFE, P_TTA, Calibrator, ScoresOnly
from donkey_aicc.calibration.controls import ConstantBaseRate, OnlineRecalibration, PooledTemperature, UniformHeating
from donkey_aicc.calibration.per_horizon import BetaCalibration, HistogramBinning, IsotonicCalibration, PlattScaling, Uncalibrated
from donkey_aicc.calibration.shrinkage import Shrinkage
from donkey_aicc.calibration.temperature import AUTHORS, DensityAwareCalibration, EnsembleTemperature, TemperatureScaling
from donkey_aicc.calibration.venn_abers import VennAbers
from donkey_aicc.errors import AiccError, ConfigError, one_of

BASELINES = ("none", "temperature", "platt", "isotonic", "histogram", "dac")  # the paper's
MORE_BASELINES = ("beta", "ets", "venn_abers", "dac_authors", "dac_fitted")  # what a reviewer would ask for
ABLATION = ("shrinkage", "no_tta", "tta", "tta_delta", "tta_rho", "tta_rho_delta")
FURTHER = ("tta_rho_two_sided", "tta_log_rho", "tta_log_rho_delta", "light", "tta_latent")
RESTORED = ("restored", "restored_rho_delta", "aicc_r_no_restoring", "aicc_r_hindsight", "aicc_r")
CONTROLS = ("base_rate", "pooled_temperature", "uniform_heating")
LABELLED = ("online",)  # need labels while driving: no method for a car
OURS = "tta_rho_delta"  # the paper's method
DEFAULT_METHOD = "aicc_r"  # what `calibrate` fits unless told otherwise

_ROWS: dict[str, Callable[[], Calibrator]] = {
    "none": Uncalibrated,
    "temperature": TemperatureScaling,
    "platt": PlattScaling,
    "isotonic": IsotonicCalibration,
    "histogram": HistogramBinning,
    "beta": BetaCalibration,
    "ets": EnsembleTemperature,
    "venn_abers": VennAbers,
    "dac": DensityAwareCalibration,
    "dac_authors": lambda: DensityAwareCalibration("dac_authors", "DAC (authors' code)", normalised=AUTHORS),
    "dac_fitted": lambda: AnomalyTemperature("dac_fitted", "DAC, fitted weight", starts_from=P_SAFE, score_names=(AUTHORS,)),
    "shrinkage": Shrinkage,
    "no_tta": lambda: AnomalyTemperature("no_tta", "rho + delta, no TTA", starts_from=P_SAFE),
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
    "restored": lambda: RestoredTemperature("restored", "Restored view alone", score_names=()),
    "restored_rho_delta": lambda: RestoredTemperature(
        "restored_rho_delta", "AICC-R without hindsight", score_names=("rho", "delta")
    ),
    "aicc_r_no_restoring": lambda: RestoredTemperature("aicc_r_no_restoring", "AICC-R without restoring", starts_from=P_TTA),
    "aicc_r_hindsight": lambda: RestoredTemperature("aicc_r_hindsight", "AICC-R, hindsight alone", score_names=("hindsight",)),
    "aicc_r": RestoredTemperature,
    "base_rate": ConstantBaseRate,
    "pooled_temperature": PooledTemperature,
    "uniform_heating": UniformHeating,
    "online": OnlineRecalibration,
}
ROW_NAMES = tuple(_ROWS)
# What a car may use: what needs no labels, is a method, and never falls as the probability rises.
DRIVABLE = tuple(name for name in ROW_NAMES if name not in (*LABELLED, *CONTROLS, "histogram"))
OWN_ROWS: dict[str, Callable[[], Calibrator]] = {}  # what was registered
PLUS = "+"


def register_calibrator(name: str, make: Callable[[], Calibrator]) -> None:
    """Add a calibrator of your own: a row of every report from then on, and a method for `calibrate --method NAME`.

    Args:
        name: small letters, digits and underscores, not one that exists already; key of its row in results.json.
        make: called as make() for every fit; returns an unfitted `Calibrator`. It gives itself that name and a label for
            tables: `super().__init__(name, label)`, and `kind`. A subclass writes `fit(table, pool)`, which returns itself, and
            `calibrate(p, scores, horizon)`, p (N,) probabilities of safe -> confidence (N,) in 0 to 1. To drive a car it also
            needs `parameters` and `load_parameters`, and must keep the promise of `Calibrator`: that is tried on a grid.

    Example:
        >>> from donkey_aicc import Calibrator, register_calibrator
        >>> class Halved(Calibrator):
        ...     kind = "halved"
        ...     def __init__(self):
        ...         super().__init__("halved", "Half as sure")
        ...     def fit(self, table, pool=None):
        ...         return self
        ...     def calibrate(self, p, scores, horizon):
        ...         return 0.25 + 0.5 * p
        ...     def load_parameters(self, stored):
        ...         pass
        >>> register_calibrator("halved", Halved)
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise ConfigError(f"a calibrator's name must be small letters, digits and underscores, 40 at most, got {name!r}")
    if name in _ROWS or name == ScoresOnly.kind:
        raise ConfigError(f"a calibrator's name must be new, got {name!r}, which is there already")
    if not callable(make):
        raise ConfigError(f"make of the calibrator {name} must be callable, got {make!r}")
    made = make()
    if not isinstance(made, Calibrator) or made.name != name:
        raise ConfigError(f"make of the calibrator {name} must return a Calibrator of that name, got {made!r}")
    OWN_ROWS[name] = make


def make_calibrator(name: str) -> Calibrator:
    """An unfitted calibrator of one named row, with the user's own scores that its name goes on with."""
    row, *further = name.split(PLUS) if isinstance(name, str) else [name]
    rows = _ROWS | OWN_ROWS
    one_of("calibrator", row, tuple(rows))
    made = rows[row]()
    if further:
        if not isinstance(made, AnomalyTemperature):
            raise ConfigError(f"calibrator {row} takes no further score, got {name!r}")
        made.score_names = (*made.score_names, *further)
        made.name, made.label = name, f"{made.label} + {' + '.join(further)}"
    return made


def check_drivable(what: str, name: str) -> None:
    """Refuse what no car may use, by the name of whoever asked."""
    one_of(what, str(name).split(PLUS)[0], (*DRIVABLE, *OWN_ROWS))


def calibrator_from_json(stored: dict[str, Any]) -> Calibrator:
    """The fitted calibrator that `to_json` described. Kind, scores and views are those of the row that it says it is."""
    if not isinstance(stored, dict):
        raise AiccError(f"a calibrator must be a table, got {stored!r}")
    if stored.get("name") != ScoresOnly.kind:
        check_drivable("the calibrator's name", stored.get("name", ""))
    row = ScoresOnly() if stored["name"] == ScoresOnly.kind else make_calibrator(stored["name"])
    calibrator = type(row).from_json(stored)
    for what in ("kind", "starts_from", "score_names"):
        given, wanted = stored.get(what), getattr(row, what)
        if (list(wanted) if isinstance(wanted, tuple) else wanted) != given:
            raise AiccError(f"{what} of the calibrator {row.name} must be {wanted!r}, got {given!r}")
    return calibrator
