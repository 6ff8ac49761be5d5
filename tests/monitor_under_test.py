"""A bundle of untrained nets and a calibrator made up for it: small enough to drive with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from donkey_aicc.alarm.alarm_model import AlarmModel
from donkey_aicc.alarm.alarm_policy import Threshold
from donkey_aicc.alarm.pieces import Piece
from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import SIGN_NAMES, SIGNS, SignSettings
from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.calibrator_file import save_calibrator
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.nets.preprocess import LATENT_CHANNELS
from donkey_aicc.nets.trained_nets import Nets, save_bundle
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.synthetic_scores import synthetic_table

HORIZONS = (1, 5)
CONTEXT = 5
CNN_FEATURES = 128
SETTINGS = ScoreSettings(samples=2, context=CONTEXT)  # cheap enough for a test


def make_bundle(folder: Path, **described: Any) -> Path:
    """The same nets in every call. described: further entries of the manifest."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        nets = Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS)))
    actions = {"mean": [0.0, 0.3], "std": [0.2, 0.05]}
    save_bundle(folder, nets, Manifest(horizons=list(HORIZONS), action_stats=actions, context=CONTEXT, **described))
    return folder


def light_alarm() -> AlarmModel:
    """An alarm that knows the light only, and a little of the contrast: those of random pixels from 60 to 199."""
    scales = np.full((3, len(SIGNS)), np.nan)
    scales[:, SIGN_NAMES.index("light")] = -0.68, 0.2, 0.2
    scales[:, SIGN_NAMES.index("contrast")] = -1.8, 0.15, 10.0
    limits = {"watch": Threshold(2.0, 0.2, 9, 0.2), "danger": Threshold(3.0, 0.1, 9, 0.1)}
    plain = {"signs": SignSettings(), "hazard": None, "hazard_unit": 1.0, "piece": Piece(500, 25.0), "cruise": 0.5}
    return AlarmModel(SignScales(*scales), stop_hazard=0.0, note="absent", **limits, **plain)


def nominal_table() -> ScoreTable:
    """What that calibrator was fitted on, in numbers."""
    table = synthetic_table(np.random.default_rng(0), horizons=HORIZONS)
    rng = np.random.default_rng(0)
    latent, seen = rng.normal(size=(len(table), LATENT_CHANNELS)), rng.normal(size=(len(table), CNN_FEATURES))
    return replace(table, latent=latent, cnn_features=seen)


def add_calibrator(bundle: Path, alarm: bool = False) -> AnomalyTemperature:
    """Put a calibrator into the bundle."""
    fitted = AnomalyTemperature()
    fitted.temperatures, fitted.weights = {1: 2.0, 5: 2.0}, {"rho": 1.0, "delta": 0.5}
    table = nominal_table()
    fitted.statistics = ScoreStatistics.fit(table)
    fitted.settings = SETTINGS
    fitted.alarm = light_alarm() if alarm else None
    save_calibrator(Bundle.load(bundle), fitted, {}, table)
    return fitted
