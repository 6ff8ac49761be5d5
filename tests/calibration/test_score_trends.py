"""Families that raise a score, and one that lowers it, are told apart."""

from dataclasses import replace

import numpy as np

from donkey_aicc.calibration.score_trends import score_trends
from donkey_aicc.calibration.statistics import ScoreStatistics
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
    nominal = synthetic_table(np.random.default_rng(0), sequences=4, length=100)
    statistics = ScoreStatistics.fit(nominal)
    anomalous = concatenate(
        [family("speckle", (1.5, 2.0, 3.0)), family("pixelation", (0.9, 0.7, 0.5)), family("fog", (2.0, 1.5, 3.0))]
    )
    trends = score_trends(nominal, statistics.scores(nominal), anomalous, statistics.scores(anomalous), names=("rho",))
    speckle, pixelation, fog = trends
    assert not speckle.lowered and speckle.warning() == ""
    assert pixelation.lowered and "pixelation lowers rho" in pixelation.warning() and "severity 3" in pixelation.warning()
    assert not fog.lowered
    assert fog.severities == (1, 2, 3)


def test_unrecorded_scores_are_left_out() -> None:
    nominal = synthetic_table(np.random.default_rng(0), sequences=4, length=100)
    bare = replace(nominal, latent=np.full_like(nominal.latent, np.nan))
    scores = ScoreStatistics.fit(bare).scores(bare)
    assert [trend.score for trend in score_trends(bare, scores, bare, scores)] == ["rho", "delta", "rho_two_sided"]
