"""Fast calibration errors, intervals and monotonicity against plain computations."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.evaluation.metrics import (
    Measured,
    bin_sums,
    ece_of_sums,
    ece_top_label,
    horizon_average,
    horizon_mean,
    horizon_weights,
    mean_ece,
    per_horizon,
)
from donkey_aicc.evaluation.score_quality import measure_monotonicity
from donkey_aicc.evaluation.tables import interval_cell, mean_of, spread_cell
from donkey_aicc.scoring.score_table import HORIZONS
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.evaluation.plain_bootstrap import bootstrap_interval
from tests.synthetic_scores import synthetic_table


@pytest.fixture
def table():
    return synthetic_table(np.random.default_rng(0), sequences=4, length=120)


def test_binned_ece_equals_the_metric_at_every_horizon(table):
    p = table.p_tta.copy()
    p[:6, 0] = [0.0, 1.0, 0.5, 7 / 15, 8 / 15, 14 / 15]  # edges of bins
    found = ece_of_sums(bin_sums(p, table.labels)[0])
    expected = [float(ece_top_label(p[:, k], table.labels[:, k])) for k in range(len(HORIZONS))]
    assert found == pytest.approx(expected, abs=1e-12)
    assert mean_ece(p, table.labels, table.horizons) == pytest.approx(
        float(horizon_average(per_horizon(ece_top_label, p, table.labels), table.horizons))
    )


def test_sums_of_groups_add_up_and_an_unlabelled_horizon_outside_the_mean_is_ignored(table):
    group = np.unique(table.sequence, return_inverse=True)[1]
    assert bin_sums(table.p_tta, table.labels, group, 4).sum(axis=0) == pytest.approx(bin_sums(table.p_tta, table.labels)[0])
    assert horizon_weights(table.horizons).sum() == pytest.approx(1.0) and horizon_weights(table.horizons)[0] == 0
    labels = table.labels.copy()
    labels[:, 0] = np.nan
    assert np.isfinite(mean_ece(table.p_tta, labels, table.horizons))
    labels[:, 3] = np.nan
    assert np.isnan(mean_ece(table.p_tta, labels, table.horizons))


def test_resampled_sums_equal_resampled_rows(table):
    """The fast way and the plain bootstrap of rows give the same interval, up to the luck of the draw."""
    names, group = np.unique(table.sequence, return_inverse=True)
    sums = bin_sums(table.p_tta, table.labels, group, len(names))
    drawn = np.random.default_rng(0).multinomial(4, np.full(4, 0.25), size=4000).astype(float)
    fast = interval_cell(horizon_mean(ece_of_sums(np.tensordot(drawn, sums, axes=1)), table.horizons), 4)
    plain = bootstrap_interval(
        table.sequence, lambda rows: mean_ece(table.p_tta[rows], table.labels[rows], table.horizons), seed=1, draws=400
    )
    assert fast["low"] == pytest.approx(plain.low, abs=0.01) and fast["high"] == pytest.approx(plain.high, abs=0.01)
    assert "cannot be resampled" in interval_cell(np.array([0.1]), 1)["reason"]


def test_undefined_numbers_become_null_with_the_reason():
    missing = Measured(float("nan"), "one class only")
    assert spread_cell([Measured(0.1), missing]) == {
        "mean": None,
        "std": None,
        "values": [0.1, None],
        "reason": "split 2: one class only",
    }
    assert mean_of([Measured(0.1), missing], ["dark", "blur"]).reason == "blur: one class only"
    assert spread_cell([Measured(0.1), Measured(0.3)])["std"] == pytest.approx(0.141421)


def test_a_score_that_falls_with_severity_is_named():
    rng = np.random.default_rng(0)
    nominal = synthetic_table(rng, sequences=3, length=60, horizons=(5, 10))
    rising = synthetic_table(rng, sequences=3, length=60, horizons=(5, 10), shift=1.0, protocol="dark", severity=2)
    falling = replace(rising, rho_raw=nominal.rho_raw * 0.7, protocol=np.full(len(rising), "blur"))
    found = measure_monotonicity(nominal, {"dark": rising, "blur": falling}, ScoreStatistics.fit(nominal))
    assert found["rho"]["dark"]["falls"] == [] and found["rho"]["dark"]["spearman"] > 0.4
    assert found["rho"]["blur"]["below_nominal"] and found["rho"]["blur"]["falls"][0]["to"] == 2
    assert not found["rho_two_sided"]["blur"]["below_nominal"]
