"""A family that lowers rho is told apart from those that raise it."""

from dataclasses import replace

import numpy as np

from donkey_aicc.calibration.calibrating import lowered_rho
from donkey_aicc.calibration.pool import build_pool
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from tests.synthetic_scores import synthetic_table


def family(name: str, factors: tuple[float, ...]) -> ScoreTable:
    """Reconstruction error multiplied by a factor per severity."""
    parts = []
    for severity, factor in enumerate(factors, start=1):
        part = synthetic_table(np.random.default_rng(severity), sequences=1, length=80, protocol=name, severity=severity)
        parts.append(replace(part, rho_raw=part.rho_raw * factor))
    return concatenate(parts)


def test_smoothing_is_found_to_lower_rho_and_noise_to_raise_it() -> None:
    nominal = synthetic_table(np.random.default_rng(0), sequences=5, length=100)
    families = {"speckle": (1.5, 2.0, 3.0), "pixelation": (0.9, 0.5, 0.7), "fog": (2.0, 1.5, 3.0)}
    pool = build_pool(nominal, concatenate([family(name, factors) for name, factors in families.items()]))
    (said,) = lowered_rho(pool)
    odd = (pool.augmented.protocol == "pixelation") & (pool.augmented.severity == 2)
    lowest, nominal = pool.augmented_scores["rho_z"][odd].mean(), pool.nominal_scores["rho_z"].mean()
    assert said.startswith(f"pixelation lowers rho: mean {lowest:.2f} at severity 2, nominal {nominal:.2f};")
