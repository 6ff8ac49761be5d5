"""Scores against direct formulas, degenerate columns, single frames, JSON."""

import json
from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import SCORE_NAMES, ScoreStatistics
from tests.synthetic_scores import synthetic_table


def test_rho_and_delta_follow_the_direct_formula(nominal: ScoreTable, augmented: ScoreTable) -> None:
    scores = ScoreStatistics.fit(nominal).scores(augmented)
    good = nominal.valid
    mu, sigma = nominal.rho_raw[good].mean(), nominal.rho_raw[good].std()
    rho_z = (augmented.rho_raw - mu) / (2 * sigma)
    np.testing.assert_allclose(scores["rho_z"], rho_z, rtol=1e-9)
    np.testing.assert_allclose(scores["rho"], np.clip(rho_z, 0, 1), rtol=1e-9)
    np.testing.assert_allclose(scores["rho_two_sided"], np.clip(np.abs(rho_z), 0, 1), rtol=1e-9)

    mean, scale = nominal.features[good].mean(axis=0), nominal.features[good].std(axis=0)
    inverse = np.linalg.inv(np.cov((nominal.features[good] - mean).T / scale[:, None]) + 1e-6 * np.eye(12))

    def distance(features: np.ndarray) -> np.ndarray:
        rows = [(row - mean) / scale for row in features]
        return np.array([np.sqrt(row @ inverse @ row) for row in rows])

    calm = distance(nominal.features[good])
    np.testing.assert_allclose(scores["delta_z"], (distance(augmented.features) - calm.mean()) / (2 * calm.std()), rtol=1e-6)


def test_warm_up_rows_do_not_count(nominal: ScoreTable) -> None:
    spoiled = replace(nominal, rho_raw=np.where(nominal.valid, nominal.rho_raw, 99.0))
    assert ScoreStatistics.fit(spoiled).rho_raw == ScoreStatistics.fit(nominal).rho_raw


def test_rows_argument_picks_a_part(nominal: ScoreTable) -> None:
    rows = np.arange(len(nominal)) < 1000
    assert ScoreStatistics.fit(nominal, rows).rho_raw == ScoreStatistics.fit(nominal.select(rows)).rho_raw


def test_one_frame_gets_the_scores_of_its_row(nominal: ScoreTable, augmented: ScoreTable) -> None:
    statistics = ScoreStatistics.fit(nominal)
    scores = statistics.scores(augmented)
    for row in (0, 17, 400):
        assert statistics.rho(augmented.rho_raw[row]) == pytest.approx(scores["rho"][row], abs=1e-12)
        assert statistics.delta(augmented.features[row]) == pytest.approx(scores["delta"][row], abs=1e-12)
        columns = ("rho_raw", "features", "latent", "tta_spread", "cnn_features")
        alone = statistics.frame_scores(*(getattr(augmented, name)[row] for name in columns))
        assert set(alone) == set(SCORE_NAMES) - {"hindsight"}  # that comes from what was foreseen
        assert all(alone[name] == pytest.approx(scores[name][row], abs=1e-5) for name in alone)
    few = {"rho", "rho_two_sided", "log_rho", "delta", "delta_held_out", "control"}
    assert set(statistics.frame_scores(1e-3, augmented.features[0])) == few


def test_control_score_needs_no_rollout(nominal: ScoreTable, augmented: ScoreTable) -> None:
    statistics = ScoreStatistics.fit(nominal)
    blind = augmented.features.copy()
    blind[:, :3] = 0.0
    first, second = (statistics.scores(table)["control_z"] for table in (augmented, replace(augmented, features=blind)))
    np.testing.assert_array_equal(first, second)


def test_constant_columns_do_not_explode(nominal: ScoreTable, augmented: ScoreTable) -> None:
    features = nominal.features.copy()
    features[:, 4] = 3.0
    flat = replace(nominal, features=features, rho_raw=np.full(len(nominal), 1e-3), tta_spread=np.zeros_like(nominal.p_tta))
    statistics = ScoreStatistics.fit(flat)
    seen = augmented.features.copy()
    seen[:, 4] = 50.0
    without = ScoreStatistics.fit(flat).scores(replace(augmented, features=np.where(np.arange(12) == 4, 3.0, seen)))
    scores = statistics.scores(replace(augmented, features=seen))
    assert all(np.isfinite(values).all() for values in scores.values())
    np.testing.assert_allclose(scores["delta_z"], without["delta_z"])
    assert statistics.rho(1e-3) == 0.0


def test_two_equal_features_do_not_explode(nominal: ScoreTable) -> None:
    features = nominal.features.copy()
    features[:, 11] = features[:, 10]
    scores = ScoreStatistics.fit(replace(nominal, features=features)).scores(replace(nominal, features=features))
    assert np.isfinite(scores["delta_z"]).all()


def test_smoother_pictures_raise_the_two_sided_scores_only(nominal: ScoreTable) -> None:
    smooth = replace(nominal, rho_raw=0.5 * nominal.rho_raw)
    scores = ScoreStatistics.fit(nominal).scores(smooth)
    assert scores["rho"].max() == 0.0
    assert scores["rho_two_sided"].min() > 0.9 and scores["log_rho"].min() > 0.9


def test_held_out_nominal_sequences_score_low_and_shifted_ones_high(nominal: ScoreTable, augmented: ScoreTable) -> None:
    statistics = ScoreStatistics.fit(nominal)
    calm = statistics.scores(synthetic_table(np.random.default_rng(77), sequences=4, length=100))
    odd = statistics.scores(augmented)
    for name in ("rho", "delta", "latent", "density", "tta_spread"):
        assert calm[name].mean() < 0.35 < odd[name].mean(), name


def test_unrecorded_columns_give_no_score_and_holes_are_refused(nominal: ScoreTable) -> None:
    bare = replace(nominal, latent=np.full_like(nominal.latent, np.nan), cnn_features=np.full_like(nominal.cnn_features, np.nan))
    scores = ScoreStatistics.fit(bare).scores(bare)
    assert {"latent", "density", "dac"}.isdisjoint(scores)
    holes = nominal.latent.copy()
    holes[100] = np.nan
    with pytest.raises(AiccError, match="latent must be finite"):
        ScoreStatistics.fit(replace(nominal, latent=holes))
    with pytest.raises(AiccError, match="rho_raw must be finite"):
        ScoreStatistics.fit(replace(nominal, rho_raw=np.full(len(nominal), np.nan)))
    with pytest.raises(AiccError, match="at least 2 valid"):
        ScoreStatistics.fit(replace(nominal, valid=np.zeros(len(nominal), dtype=bool)))


def test_json_round_trip_gives_equal_scores(nominal: ScoreTable, augmented: ScoreTable) -> None:
    statistics = ScoreStatistics.fit(nominal)
    text = json.dumps(statistics.to_json(), allow_nan=False)
    again = ScoreStatistics.from_json(json.loads(text)).scores(augmented)
    for name, values in statistics.scores(augmented).items():
        np.testing.assert_array_equal(values, again[name], err_msg=name)
    with pytest.raises(AiccError, match="damaged"):
        ScoreStatistics.from_json({"rows": 3})


def test_stored_references_stay_small() -> None:
    table = synthetic_table(np.random.default_rng(0), sequences=5, length=600, cnn_width=128)
    assert len(json.dumps(ScoreStatistics.fit(table).to_json())) < 450_000


def test_density_agrees_with_sklearn_neighbours(nominal: ScoreTable, augmented: ScoreTable) -> None:
    from sklearn.neighbors import NearestNeighbors

    density = ScoreStatistics.fit(nominal, max_references=500).density
    assert density is not None
    found, _ = NearestNeighbors(n_neighbors=10).fit(density.references).kneighbors(augmented.cnn_features)
    np.testing.assert_allclose(density.distance(augmented.cnn_features), found.mean(axis=1), rtol=1e-4)
