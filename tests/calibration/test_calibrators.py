"""What holds for every calibrator, and for those whose temperature depends on anomaly scores."""

import json
from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import DRIVABLE, ROW_NAMES, calibrator_from_json, make_calibrator
from donkey_aicc.calibration.pool import Pool
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable

ANOMALY_ROWS = (
    "no_tta",
    "tta_rho",
    "tta_delta",
    "tta_rho_delta",
    "tta_rho_two_sided",
    "tta_latent",
    "shrinkage",
    "dac",
)
POOL_ROWS = ("no_tta", "tta_rho", "tta_delta", "tta_rho_delta", "shrinkage", "pooled_temperature")


@pytest.fixture(scope="module")
def fitted(nominal: ScoreTable, pool: Pool) -> dict[str, Calibrator]:
    return {name: make_calibrator(name).fit(nominal, pool) for name in ROW_NAMES}


@pytest.mark.parametrize("name", DRIVABLE)
def test_json_round_trip_gives_equal_outputs(name: str, fitted: dict[str, Calibrator], augmented: ScoreTable) -> None:
    text = json.dumps(fitted[name].to_json(), allow_nan=False)
    again = calibrator_from_json(json.loads(text))
    assert type(again) is type(fitted[name]) and again.name == name and again.label == fitted[name].label
    np.testing.assert_array_equal(again.predict(augmented), fitted[name].predict(augmented))
    assert json.loads(json.dumps(again.to_json())) == json.loads(text)


@pytest.mark.parametrize("name", ROW_NAMES)
def test_outputs_are_probabilities_and_calibrate_changes_no_input(
    name: str, fitted: dict[str, Calibrator], augmented: ScoreTable
) -> None:
    before = augmented.p_tta.copy(), augmented.p_safe.copy()
    confidence = fitted[name].predict(augmented)
    assert confidence.shape == augmented.p_safe.shape
    assert np.isfinite(confidence).all() and confidence.min() >= 0 and confidence.max() <= 1
    assert np.array_equal(before[0], augmented.p_tta) and np.array_equal(before[1], augmented.p_safe)
    np.testing.assert_array_equal(confidence, fitted[name].predict(augmented))


@pytest.mark.parametrize("name", ROW_NAMES)
def test_extreme_probabilities_stay_finite(name: str, fitted: dict[str, Calibrator]) -> None:
    p = np.array([0.0, 1.0, 1e-300, 1 - 1e-16, 0.5])
    scores = {score: np.ones(5) for score in fitted[name].score_names}
    assert np.isfinite(fitted[name].calibrate(p, scores, 10)).all()


@pytest.mark.parametrize("name", ROW_NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.1, 1.1])
def test_impossible_probabilities_are_refused(name: str, bad: float, fitted: dict[str, Calibrator]) -> None:
    scores = {score: np.zeros(2) for score in fitted[name].score_names}
    with pytest.raises(AiccError):
        fitted[name].calibrate(np.array([0.5, bad]), scores, 10)


@pytest.mark.parametrize("name", sorted(set(ROW_NAMES) - {"none"}))
def test_unknown_horizon_and_unfitted_use_are_explained(name: str, fitted: dict[str, Calibrator]) -> None:
    p = np.array([0.3, 0.6])
    if name != "shrinkage":  # its weights are shared by all horizons
        with pytest.raises(AiccError, match="horizon 7"):
            fitted[name].calibrate(p, {score: np.zeros(2) for score in fitted[name].score_names}, 7)


@pytest.mark.parametrize("name", sorted(set(ROW_NAMES) - {"none"}))
def test_one_class_of_labels_is_explained(name: str, nominal: ScoreTable, pool: Pool) -> None:
    labels = nominal.labels.copy()
    labels[:, 3] = np.where(np.isnan(labels[:, 3]), np.nan, 1.0)
    with pytest.raises(AiccError, match="safe and unsafe calibration frames at horizon 15, got only safe"):
        make_calibrator(name).fit(replace(nominal, labels=labels), pool)


@pytest.mark.parametrize("name", POOL_ROWS)
def test_learned_weights_need_augmented_data(name: str, nominal: ScoreTable) -> None:
    with pytest.raises(AiccError, match="build_pool"):
        make_calibrator(name).fit(nominal)


@pytest.mark.parametrize("name", ANOMALY_ROWS)
def test_confidence_moves_monotonically_toward_half_as_any_score_grows(name: str, fitted: dict[str, Calibrator]) -> None:
    calibrator = fitted[name]
    levels = np.linspace(0, 1, 11)
    for p in (0.02, 0.4, 0.8, 0.999):
        for grown in calibrator.score_names:
            scores = {score: levels if score == grown else np.full(11, 0.3) for score in calibrator.score_names}
            gap = np.abs(calibrator.calibrate(np.full(11, p), scores, 20) - 0.5)
            assert (np.diff(gap) <= 1e-12).all(), (grown, p)


@pytest.mark.parametrize("name", ANOMALY_ROWS)
def test_order_of_predictions_at_equal_scores_is_preserved(name: str, fitted: dict[str, Calibrator]) -> None:
    p = np.sort(np.random.default_rng(0).random(200))
    for level in (0.0, 0.5, 1.0):
        confidence = fitted[name].calibrate(p, {score: np.full(200, level) for score in fitted[name].score_names}, 30)
        assert (np.diff(confidence) >= 0).all()


@pytest.mark.parametrize("name", ["no_tta", "tta_rho", "tta_delta", "tta_rho_delta", "dac"])
def test_zero_scores_give_plain_temperature_scaling(name: str, fitted: dict[str, Calibrator]) -> None:
    plain = fitted["tta"] if fitted[name].starts_from == "p_tta" else fitted["temperature"]
    p = np.linspace(0.01, 0.99, 50)
    for horizon in (1, 25, 50):
        calm = {score: np.zeros(50) for score in fitted[name].score_names}
        np.testing.assert_allclose(fitted[name].calibrate(p, calm, horizon), plain.calibrate(p, {}, horizon), rtol=1e-12)


@pytest.mark.parametrize("name", sorted(set(ANOMALY_ROWS) - {"dac"}))
def test_weights_are_never_negative(name: str, fitted: dict[str, Calibrator], nominal: ScoreTable, pool: Pool) -> None:
    """Even where anomalous frames are easier to predict than nominal ones."""
    sharp = replace(pool.augmented, labels=np.where(np.isnan(pool.augmented.labels), np.nan, pool.augmented.p_tta >= 0.5))
    for calibrator in (fitted[name], make_calibrator(name).fit(nominal, replace(pool, augmented=sharp))):
        weights = calibrator.parameters()["weights"]
        assert set(weights) == set(calibrator.score_names) and min(weights.values()) >= 0


def test_missing_or_broken_scores_are_named(fitted: dict[str, Calibrator]) -> None:
    p = np.array([0.2, 0.8])
    with pytest.raises(AiccError, match="needs the score delta"):
        fitted["tta_rho_delta"].calibrate(p, {"rho": np.zeros(2)}, 10)
    with pytest.raises(AiccError, match="score rho must be 2 finite"):
        fitted["tta_rho_delta"].calibrate(p, {"rho": np.array([0.0, np.nan]), "delta": np.zeros(2)}, 10)


def test_unknown_names_and_damaged_files_are_explained(fitted: dict[str, Calibrator]) -> None:
    with pytest.raises(AiccError, match="calibrator must be one of"):
        make_calibrator("magic")
    for name in ("magic", "base_rate", "online", None, {}):  # unknown, a control, one that needs labels, no name at all
        with pytest.raises(AiccError, match="name must be one of"):
            calibrator_from_json({"name": name})
    for name in DRIVABLE:
        with pytest.raises(AiccError, match="damaged"):
            calibrator_from_json({"name": name})


def test_scores_may_be_handed_in(fitted: dict[str, Calibrator], augmented: ScoreTable) -> None:
    calibrator = fitted["tta_rho_delta"]
    assert calibrator.statistics is not None
    np.testing.assert_array_equal(
        calibrator.predict(augmented, calibrator.statistics.scores(augmented)), calibrator.predict(augmented)
    )
