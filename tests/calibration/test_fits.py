"""Fits find what the data was drawn from, and agree with brute force or an independent library."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.anomaly_weights import HeatingProblem
from donkey_aicc.calibration.base import mean_nll
from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.calibration.controls import ConstantBaseRate, PooledTemperature, UniformHeating
from donkey_aicc.calibration.per_horizon import HistogramBinning, IsotonicCalibration, PlattScaling
from donkey_aicc.calibration.pool import Pool, build_pool
from donkey_aicc.calibration.temperature import T_MAX, T_MIN, fit_temperature
from donkey_aicc.calibration.venn_abers import VennAbers
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from tests.synthetic_scores import synthetic_table


def plain_nll(p: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean([-np.log(q) if label else -np.log(1 - q) for q, label in zip(p, y, strict=True)]))


def draw(temperature: float, count: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.3, 3.0, size=count)
    y = (rng.random(count) < 1 / (1 + np.exp(-logits / temperature))).astype(float)
    return 1 / (1 + np.exp(-logits)), y


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5, 6.0])
def test_temperature_agrees_with_a_brute_force_grid(temperature: float) -> None:
    p, y = draw(temperature, count=1500)
    logits = np.log(p / (1 - p))
    grid = np.arange(0.9 * temperature - 0.3, 1.3 * temperature + 0.3, 5e-4)
    losses = [np.logaddexp(0, np.where(y > 0, -logits, logits) / value).mean() for value in grid]
    assert fit_temperature(p, y) == pytest.approx(grid[int(np.argmin(losses))], abs=1e-3)
    assert fit_temperature(p, y) == pytest.approx(temperature, rel=0.15)


def test_temperature_stays_in_its_bounds() -> None:
    p = np.array([0.6, 0.7, 0.4, 0.3])
    assert fit_temperature(p, np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(T_MIN, rel=1e-3)
    assert fit_temperature(p, np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(T_MAX, rel=1e-3)


def test_platt_agrees_with_sklearn() -> None:
    from sklearn.linear_model import LogisticRegression

    p, y = draw(2.0)
    reference = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(np.log(p / (1 - p))[:, None], y)
    slope, offset = PlattScaling().fitted_curve(p, y)
    assert slope == pytest.approx(float(reference.coef_[0, 0]), abs=1e-3)
    assert offset == pytest.approx(float(reference.intercept_[0]), abs=1e-3)


def test_isotonic_agrees_with_sklearn_and_histogram_with_counting(nominal: ScoreTable) -> None:
    from sklearn.isotonic import IsotonicRegression

    rows = nominal.valid & ~np.isnan(nominal.labels[:, 2])
    p, y = nominal.p_safe[rows, 2], nominal.labels[rows, 2]
    asked = np.linspace(0, 1, 77)
    reference = IsotonicRegression(y_min=0.01, y_max=0.99, out_of_bounds="clip").fit(p, y)
    ours = IsotonicCalibration().fit(nominal)
    np.testing.assert_allclose(ours.calibrate(asked, {}, 10), reference.predict(asked), atol=1e-12)
    histogram = HistogramBinning().fit(nominal)
    for low in range(15):
        inside = [label for q, label in zip(p, y, strict=True) if low / 15 <= q < (low + 1) / 15]
        assert histogram.calibrate(np.array([(low + 0.5) / 15]), {}, 10)[0] == pytest.approx(np.mean(inside))


def test_gradient_agrees_with_finite_differences() -> None:
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((50, 4)) < 0.2, np.nan, rng.random((50, 4)) < 0.5)
    problem = HeatingProblem(rng.normal(0, 3, (50, 4)), labels, rng.random((50, 3)))
    at = np.array([0.3, 1.2, 0.0])
    value, gradient = problem.nll_and_gradient(at)
    assert value == pytest.approx(problem.nll(at), rel=1e-12)
    for axis in range(3):
        step = np.eye(3)[axis] * 1e-6
        assert gradient[axis] == pytest.approx((problem.nll(at + step) - problem.nll(at - step)) / 2e-6, abs=1e-7)


def known_pool(weights: tuple[float, float], seed: int) -> tuple[ScoreTable, Pool]:
    """Enough data that the weights used to draw the labels can be found again."""
    rng = np.random.default_rng(seed)
    nominal = synthetic_table(rng, sequences=10, length=300, temperature=2.0)
    calm = {name: np.zeros(len(nominal)) for name in ("rho", "delta")}
    augmented = synthetic_table(rng, sequences=20, length=300, temperature=2.0, shift=1.0, weights=weights, protocol="fog")
    pool = build_pool(nominal, augmented, seed=seed)
    # Scores as the labels were drawn: what is tested is the fit, not the noise of the normalisation.
    truth = {"rho": (augmented.rho_raw / 1e-3 - 1) / 0.2, "delta": rng.random(len(augmented))}
    heat = weights[0] * truth["rho"] + weights[1] * truth["delta"]
    logits = np.log(augmented.p_tta / (1 - augmented.p_tta)) / (2.0 * np.exp(heat))[:, None]
    drawn = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    labels = np.where(np.isnan(augmented.labels), np.nan, drawn)
    return nominal, replace(pool, nominal_scores=calm, augmented=replace(augmented, labels=labels), augmented_scores=truth)


@pytest.mark.parametrize("weights", [(0.0, 0.0), (1.5, 0.4), (0.0, 2.0)])
def test_anomaly_weights_and_temperatures_are_recovered(weights: tuple[float, float]) -> None:
    nominal, pool = known_pool(weights, seed=2)
    fitted = AnomalyTemperature().fit(nominal, pool)
    assert fitted.weights["rho"] == pytest.approx(weights[0], abs=0.15)
    assert fitted.weights["delta"] == pytest.approx(weights[1], abs=0.15)
    assert np.array(list(fitted.temperatures.values())) == pytest.approx(2.0, abs=0.35)
    assert fitted.fit_report["augmented_nll"] <= fitted.fit_report["augmented_nll_without_scores"] + 1e-3


def test_weights_are_the_best_on_the_whole_pool_not_on_four_fifths_of_it(nominal: ScoreTable, pool: Pool) -> None:
    fitted = AnomalyTemperature().fit(nominal, pool)

    def whole_nll(rho: float, delta: float) -> float:
        tried = copy.copy(fitted)
        tried.weights = {"rho": max(rho, 0.0), "delta": max(delta, 0.0)}
        parts = ((pool.nominal, pool.nominal_scores), (pool.augmented, pool.augmented_scores))
        return mean_nll(
            np.concatenate([tried.predict(*part) for part in parts]), np.concatenate([part[0].labels for part in parts])
        )

    rho, delta = fitted.weights["rho"], fitted.weights["delta"]
    best = whole_nll(rho, delta)
    for step in (-0.02, 0.02):
        assert best <= whole_nll(rho + step, delta) and best <= whole_nll(rho, delta + step)


def test_each_family_alone_tells_its_own_weights(nominal: ScoreTable, pool: Pool) -> None:
    fitted = AnomalyTemperature().fit(nominal, pool)
    alone = fitted.weights_by_family(pool)
    assert set(alone) == {"fog", "frost", "speed_mismatch"}
    assert alone["fog"]["rho"] > alone["speed_mismatch"]["rho"]
    assert alone["fog"]["delta"] < alone["speed_mismatch"]["delta"]


def test_fit_is_deterministic(nominal: ScoreTable, pool: Pool) -> None:
    for name in ("tta_rho_delta", "shrinkage"):
        assert make_calibrator(name).fit(nominal, pool).parameters() == make_calibrator(name).fit(nominal, pool).parameters()


def test_shrinkage_lowers_the_pool_nll(nominal: ScoreTable, pool: Pool) -> None:
    fitted = make_calibrator("shrinkage").fit(nominal, pool)
    shrunk = mean_nll(fitted.predict(pool.augmented, pool.augmented_scores), pool.augmented.labels)
    assert shrunk < mean_nll(pool.augmented.p_safe, pool.augmented.labels)


def test_controls_know_nothing_of_the_scores(nominal: ScoreTable, augmented: ScoreTable, pool: Pool) -> None:
    rate = ConstantBaseRate().fit(nominal)
    rows = nominal.valid & ~np.isnan(nominal.labels[:, 1])
    assert rate.calibrate(np.array([0.1, 0.9]), {}, 5) == pytest.approx(np.full(2, nominal.labels[rows, 1].mean()))
    pooled = PooledTemperature().fit(nominal, pool)
    grid = np.linspace(0, 3, 151)
    both = [(pool.nominal.p_tta, pool.nominal.labels), (pool.augmented.p_tta, pool.augmented.labels)]
    t = np.array([pooled.temperatures[int(k)] for k in nominal.horizons])

    def loss(heat: float) -> float:
        p = [1 / (1 + np.exp(-np.log(q / (1 - q)) / (t * np.exp(heat)))) for q, _ in both]
        return mean_nll(np.concatenate(p), np.concatenate([y for _, y in both]))

    assert pooled.heat == pytest.approx(grid[int(np.argmin([loss(heat) for heat in grid]))], abs=2e-2)


def test_uniform_heating_meets_the_asked_nominal_error(nominal: ScoreTable) -> None:
    def overcaution(confidence: np.ndarray) -> float:
        return float(np.abs(np.abs(confidence - 0.5).mean() - 0.35))

    heating = UniformHeating().fit(nominal)
    assert heating.heat_to(nominal, 0.2, overcaution).fit_report["error"] == pytest.approx(0.2, abs=1e-6)
    cold = heating.heat
    assert heating.heat_to(nominal, 0.25, overcaution).heat > cold
    with pytest.raises(AiccError, match="cannot reach a nominal error of 0.9"):
        heating.heat_to(nominal, 0.9, overcaution)


def test_plain_nll_agrees_with_the_loop() -> None:
    p, y = draw(1.5, count=300)
    assert mean_nll(p, y) == pytest.approx(plain_nll(p, y))


@pytest.mark.parametrize("kind", [PlattScaling, IsotonicCalibration, VennAbers])
def test_a_curve_per_horizon_is_stored_to_the_last_digit_and_one_of_another_shape_is_refused(nominal: ScoreTable, kind) -> None:
    fitted = kind().fit(nominal)
    stored = json.loads(json.dumps(fitted.to_json()))
    again, asked = kind.from_json(stored), np.linspace(0.0, 1.0, 41)
    np.testing.assert_array_equal(again.calibrate(asked, {}, 10), fitted.calibrate(asked, {}, 10))
    for odd in ([1.0, [2.0]], [[[0.1]]], "0.5", None, []):
        stored["parameters"][fitted.stored_as]["10"] = odd
        with pytest.raises(AiccError, match="damaged or of another version|must be"):
            kind.from_json(stored)
