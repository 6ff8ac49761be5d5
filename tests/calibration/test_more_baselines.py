"""Baselines beyond the paper's, each against a slow reference that follows the definition word by word."""

import numpy as np
import pytest

from donkey_aicc.calibration.base import mean_nll
from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.calibration.controls import OnlineRecalibration
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.calibration.temperature import DensityAwareCalibration, fit_mix
from donkey_aicc.calibration.venn_abers import VennAbers, lower_values, upper_values
from donkey_aicc.scoring.score_table import ScoreTable
from tests.synthetic_scores import synthetic_table


def isotonic_value(p: np.ndarray, y: np.ndarray, score: float, label: float) -> float:
    from sklearn.isotonic import IsotonicRegression

    return float(IsotonicRegression().fit(np.append(p, score), np.append(y, label)).predict([score])[0])


@pytest.mark.parametrize("seed", range(6))
def test_venn_abers_equals_two_isotonic_fits_with_the_frame_added(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(30), int(rng.integers(1, 4)))  # with ties
    y = (rng.random(30) < p).astype(float)
    for values, label in ((upper_values, 1.0), (lower_values, 0.0)):
        where, found = values(p, y)
        assert found == pytest.approx([isotonic_value(p, y, score, label) for score in where])


def test_venn_abers_between_and_beyond_the_calibration_scores() -> None:
    table = synthetic_table(np.random.default_rng(3), sequences=2, length=60, horizons=(1, 5))
    fitted = VennAbers().fit(table)
    known = ~np.isnan(table.labels[:, 1])
    p, y = table.p_safe[known, 1], table.labels[known, 1]
    for asked in (0.0, 1e-9, 0.123, 0.5, 0.871, 1.0):
        low, high = (isotonic_value(p, y, asked, label) for label in (0.0, 1.0))
        assert fitted.calibrate(np.array([asked]), {}, 5)[0] == pytest.approx(high / (1 - low + high), abs=1e-6)


def test_ensemble_weights_agree_with_a_grid() -> None:
    rng = np.random.default_rng(0)
    raw = rng.beta(0.3, 0.3, 4000)
    parts = np.stack([1 / (1 + np.exp(-np.log(raw / (1 - raw)) / 3)), raw, np.full(4000, 0.5)], axis=1)
    y = (rng.random(4000) < parts @ [0.5, 0.2, 0.3]).astype(float)
    grid = [(a, b, 1 - a - b) for a in np.arange(0, 1.001, 0.02) for b in np.arange(0, 1.001 - a, 0.02)]
    best = min(mean_nll(parts @ np.array(mix), y) for mix in grid)
    found = fit_mix(parts, y)
    assert mean_nll(parts @ np.array(found), y) <= best + 1e-5
    assert sum(found) == pytest.approx(1) and min(found) >= 0


def test_the_two_readings_of_dac(nominal: ScoreTable, augmented: ScoreTable, pool: Pool) -> None:
    """Appendix d / (mu + 2 sigma), authors' code (d - mu) / (2 sigma): by hand on a few frames."""
    density = pool.statistics.density
    assert density is not None
    rows = np.arange(0, len(augmented), 301)
    distance = np.array(
        [np.sort(np.linalg.norm(density.references - augmented.cnn_features[row], axis=1))[:10].mean() for row in rows]
    )
    readings = {
        "dac": distance / (density.mu + 2 * density.sigma),
        "dac_authors": (distance - density.mu) / (2 * density.sigma),
    }
    for name, reading in readings.items():
        fitted = make_calibrator(name).fit(nominal, pool)
        assert isinstance(fitted, DensityAwareCalibration)
        p = augmented.p_safe[rows, 4]
        heat = fitted.temperatures[20] * np.exp(2 * np.clip(reading, 0, 1))
        expected = 1 / (1 + np.exp(-np.log(p / (1 - p)) / heat))
        np.testing.assert_allclose(fitted.predict(augmented.select(rows))[:, 4], expected, rtol=1e-3)
    nominal_frames = {name: np.clip(pool.nominal_scores[name], 0, 1).mean() for name in ("dac", "density")}
    assert nominal_frames["dac"] > 2 * nominal_frames["density"]  # the appendix heats nominal frames


def slow_online(fitted: OnlineRecalibration, table: ScoreTable, name: str, column: int) -> np.ndarray:
    """One drive and horizon, frame by frame, with the labels that are known by then."""
    rows, horizon = np.flatnonzero(table.sequence == name), int(table.horizons[column])
    x = np.log(table.p_tta[rows, column] / (1 - table.p_tta[rows, column]))
    a, b, found = 1 / fitted.temperatures[horizon], 0.0, []
    for i in range(len(rows)):
        if i >= horizon and not np.isnan(table.labels[rows[i - horizon], column]):
            seen = x[i - horizon]
            error = 1 / (1 + np.exp(-(a * seen + b))) - table.labels[rows[i - horizon], column]
            a, b = np.clip(a - fitted.rate * error * seen, 0, 10), b - fitted.rate * error
        found.append(1 / (1 + np.exp(-(a * x[i] + b))))
    return np.array(found)


def test_online_recalibration_uses_a_label_only_once_it_is_known() -> None:
    table = synthetic_table(np.random.default_rng(5), sequences=3, length=90, horizons=(1, 10))
    fitted = OnlineRecalibration().fit(table)
    fitted.rate = 0.1
    found = fitted.predict(table)
    for column in (0, 1):
        for name in table.sequences():
            np.testing.assert_allclose(found[table.sequence == name, column], slow_online(fitted, table, name, column), rtol=1e-9)
    shuffled = np.random.default_rng(0).permutation(len(table))
    np.testing.assert_allclose(fitted.predict(table.select(shuffled)), found[shuffled])


def test_online_recalibration_follows_a_base_rate_that_has_moved() -> None:
    """Everything is unsafe on this drive: after a while it says so, whatever the pictures say."""
    rng = np.random.default_rng(6)
    fitted = OnlineRecalibration().fit(calm_table(rng))
    fitted.rate = 0.1
    odd = synthetic_table(rng, sequences=1, length=200, horizons=(1, 5))
    odd.labels[~np.isnan(odd.labels)] = 0.0
    assert fitted.predict(odd)[150:].mean() < 0.25 < 0.4 < make_calibrator("tta").fit(calm_table(rng)).predict(odd)[150:].mean()


def calm_table(rng: np.random.Generator) -> ScoreTable:
    return synthetic_table(rng, sequences=6, length=150, horizons=(1, 5))
