"""Horizon average, sequence bootstrap, splits, Wilcoxon, OOD detection and lead time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.input_checks import calibration_splits
from donkey_aicc.evaluation.metrics import Measured, ece_top_label, horizon_average, per_horizon
from donkey_aicc.evaluation.resampling import wilcoxon
from donkey_aicc.evaluation.score_quality import OOD_ROWS, ood_auroc
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.scoring.statistics import ScoreStatistics
from studies.lead_times import lead_times
from tests.evaluation.plain_bootstrap import bootstrap_interval
from tests.synthetic_scores import synthetic_table


def test_horizon_average_is_the_trapezoid_from_5_to_50() -> None:
    values = [Measured(99.0)] + [Measured(k / 100) for k in HORIZONS[1:]]
    assert float(horizon_average(values, np.array(HORIZONS))) == pytest.approx(0.275)
    bent = [Measured(0.0)] * 10 + [Measured(0.9)]
    assert float(horizon_average(bent, np.array(HORIZONS))) == pytest.approx(0.9 * 2.5 / 45)


def test_an_undefined_horizon_undefines_the_average_and_is_named() -> None:
    values = [Measured(float("nan"), "no labelled samples")] + [Measured(0.1)] * 10
    assert float(horizon_average(values, np.array(HORIZONS))) == pytest.approx(0.1)  # k = 1 is not part of it
    values[4] = values[0]
    assert horizon_average(values, np.array(HORIZONS)).reason == "horizon 20: no labelled samples"
    with pytest.raises(AiccError, match="no horizon between"):
        horizon_average([Measured(0.1)], np.array([1]))


def test_average_of_a_metric_over_a_table() -> None:
    table = synthetic_table(np.random.default_rng(0), sequences=3, length=150)
    each = [float(ece_top_label(table.p_safe[:, k], table.labels[:, k])) for k in range(1, 11)]
    expected = (sum(each) - (each[0] + each[-1]) / 2) / 9
    assert float(horizon_average(per_horizon(ece_top_label, table.p_safe, table.labels), table.horizons)) == pytest.approx(
        expected
    )


def test_bootstrap_draws_sequences_not_frames() -> None:
    """20 sequences of 50 equal frames: the interval must be that of 20 values, not of 1000."""
    values = np.random.default_rng(0).normal(size=20)
    sequence, frames = np.repeat([f"s{i}" for i in range(20)], 50), np.repeat(values, 50)
    found = bootstrap_interval(sequence, lambda rows: frames[rows].mean(), seed=1, draws=2000)
    reference = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", random_state=0).confidence_interval
    assert found.low == pytest.approx(reference.low, abs=0.06) and found.high == pytest.approx(reference.high, abs=0.06)
    assert found.value == pytest.approx(values.mean())
    assert found == bootstrap_interval(sequence, lambda rows: frames[rows].mean(), seed=1, draws=2000)


@pytest.mark.slow
def test_bootstrap_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(0), 0
    for trial in range(200):
        values = rng.normal(size=25)
        frames, sequence = np.repeat(values, 10), np.repeat([f"s{i}" for i in range(25)], 10)
        found = bootstrap_interval(sequence, lambda rows, frames=frames: frames[rows].mean(), seed=trial, draws=300)
        hits += found.low <= 0.0 <= found.high
    assert 0.85 < hits / 200 < 0.99


def test_calibration_splits_are_seeded_subsets_of_sequences() -> None:
    names = [f"s{i}" for i in range(10)]
    splits = calibration_splits(names, seed=4)
    assert splits == calibration_splits(names[::-1], seed=4)
    assert len(splits) == 5 and all(len(set(split)) == 8 for split in splits) and len({tuple(split) for split in splits}) > 1
    with pytest.raises(AiccError, match="at least 2"):
        calibration_splits(["a"], seed=0)


def test_wilcoxon_counts_sign_patterns() -> None:
    """Eight pairs with distinct differences: compare with all 2^8 sign patterns."""
    a = np.array([0.11, 0.25, 0.31, 0.42, 0.18, 0.29, 0.36, 0.5])
    b = a - np.array([0.02, 0.05, -0.01, 0.08, 0.03, 0.06, -0.04, 0.07])
    ranks = stats.rankdata(np.abs(a - b))
    observed = min(ranks[a > b].sum(), ranks[a < b].sum())
    patterns = [[(n >> bit) & 1 for bit in range(8)] for n in range(256)]
    sums = [sum(rank for rank, sign in zip(ranks, pattern, strict=True) if sign) for pattern in patterns]
    expected = min(1.0, 2 * np.mean(np.array(sums) <= observed))
    assert float(wilcoxon(a.tolist(), b.tolist())) == pytest.approx(expected)
    assert wilcoxon([0.1, 0.2], [0.1, 0.2]).reason == "all pairs are equal"
    assert "too few" in wilcoxon([0.1, np.nan], [0.2, 0.3]).reason
    with pytest.raises(AiccError, match="pairs"):
        wilcoxon([0.1], [0.1, 0.2])


def test_ood_detection_ranks_shifted_frames_above_nominal_ones() -> None:
    rng = np.random.default_rng(0)
    calibration, calm = (synthetic_table(rng, sequences=6, length=120) for _ in range(2))
    odd = synthetic_table(rng, sequences=4, length=120, shift=1.0, protocol="dark", severity=3, warm_up=10)
    found = ood_auroc(calm, odd, ScoreStatistics.fit(calibration))
    assert list(found) == list(OOD_ROWS)
    for name in ("rho", "delta", "rho_delta", "latent", "density"):
        assert float(found[name]) > 0.75, name
    for name in ("msp", "entropy", "mc_dropout"):
        assert float(found[name]) == pytest.approx(0.5, abs=0.1), name
    blind = replace(odd, mc_dropout=np.full_like(odd.mc_dropout, np.nan))
    assert "unknown" in ood_auroc(calm, blind, ScoreStatistics.fit(calibration))["mc_dropout"].reason


def test_lead_time_counts_from_the_first_alarm_in_the_window() -> None:
    confidence = np.full(100, 0.9)
    cte = np.zeros(100)
    cte[60:70] = 0.5  # departure at frame 60
    confidence[[10, 11, 45, 50, 59]] = 0.1  # 10-11 warns of nothing; 45 is the first within 20 frames
    found = lead_times(confidence, cte, np.full(100, "a"), limit_m=0.3, threshold=0.5, rate_hz=10.0, window_s=2.0)
    assert found.lead_s.tolist() == [1.5] and found.missed == 0 and found.median_s() == 1.5
    assert found.false_alarms == 1 and found.frames == 90
    assert found.false_alarms_per_lap(frames_per_lap=45) == pytest.approx(0.5)


def test_lead_time_never_looks_across_sequences_and_counts_misses() -> None:
    confidence, cte = np.full(60, 0.9), np.zeros(60)
    confidence[25:30] = 0.1  # end of the first sequence
    cte[33] = 1.0  # soon after, but in the second
    sequence = np.repeat(["a", "b"], 30)
    found = lead_times(confidence, cte, sequence, limit_m=0.3, threshold=0.5, rate_hz=10.0)
    assert found.departures == found.missed == 1 and found.false_alarms == 1
    assert math.isnan(found.median_s())
    with pytest.raises(AiccError, match="rate_hz must be > 0"):
        lead_times(confidence, cte, sequence, limit_m=0.3, threshold=0.5, rate_hz=0.0)
