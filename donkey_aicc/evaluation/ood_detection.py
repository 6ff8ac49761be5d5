"""How well each score tells nominal frames from anomalous ones (paper, Section V-B, Q1)."""

import numpy as np

from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.evaluation.metrics import Measured, auroc
from donkey_aicc.scoring.score_table import ScoreTable

OOD_ROWS = {
    "msp": "MSP",
    "entropy": "Entropy",
    "mc_dropout": "MC dropout",
    "feature_norm": "Feature norm",
    "rho": "rho",
    "delta": "delta",
    "rho_delta": "rho + delta",
    "rho_two_sided": "|rho|",
    "log_rho": "log rho, two-sided",
    "latent": "Latent distance",
    "density": "Feature density",
    "tta_spread": "TTA spread",
}


def ood_scores(table: ScoreTable, statistics: ScoreStatistics) -> dict[str, np.ndarray]:
    """name -> (N,), larger = more anomalous. Predictions are averaged over horizons; anomaly scores are unclipped.

    A small feature norm counts as anomalous, as in the method's own paper. Unknown columns give NaN.
    """
    p = np.clip(table.p_safe.astype(np.float64), 1e-12, 1.0 - 1e-12)
    entropy = -(p * np.log(p) + (1.0 - p) * np.log1p(-p))
    normalised = statistics.scores(table)
    unknown = np.full(len(table), np.nan)
    found = {
        "msp": -np.maximum(p, 1.0 - p).mean(axis=1),
        "entropy": entropy.mean(axis=1),
        "mc_dropout": table.mc_dropout.mean(axis=1),
        "feature_norm": -np.linalg.norm(table.cnn_features.astype(np.float64), axis=1),
        "rho_delta": (normalised["rho_z"] + normalised["delta_z"]) / 2.0,
    }
    for name in ("rho", "delta", "rho_two_sided", "log_rho", "latent", "density", "tta_spread"):
        found[name] = normalised.get(f"{name}_z", unknown)
    return {name: found[name] for name in OOD_ROWS}


def ood_auroc(nominal: ScoreTable, anomalous: ScoreTable, statistics: ScoreStatistics) -> dict[str, Measured]:
    """AUROC of every row of OOD_ROWS on the valid frames; anomalous is the positive class."""
    nominal, anomalous = (table.select(table.valid.astype(bool)) for table in (nominal, anomalous))
    y = np.concatenate([np.zeros(len(nominal)), np.ones(len(anomalous))])
    calm, odd = ood_scores(nominal, statistics), ood_scores(anomalous, statistics)
    return {name: auroc(np.concatenate([calm[name], odd[name]]), y) for name in OOD_ROWS}
