"""Folds keep sequences whole, no row normalises itself, D_aug is thinned to balance."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.pool import Pool, build_pool, sequence_folds
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.synthetic_scores import synthetic_table


def test_a_sequence_lies_in_one_fold_and_folds_are_even() -> None:
    lengths = (50, 300, 120, 80, 90, 200, 60, 100)
    sequence = np.repeat([f"s{number}" for number in range(len(lengths))], lengths)
    fold = sequence_folds(sequence, folds=4, seed=1)
    assert all(len(set(fold[sequence == name])) == 1 for name in set(sequence))
    counts = np.bincount(fold)
    assert len(counts) == 4 and counts.max() <= 300
    assert np.array_equal(fold, sequence_folds(sequence, folds=4, seed=1))


def test_fewer_sequences_than_folds_is_explained() -> None:
    few = synthetic_table(np.random.default_rng(0), sequences=3, length=80)
    with pytest.raises(AiccError, match="at least 5 calibration sequences, got 3"):
        build_pool(few, few)


def test_nominal_scores_come_from_the_other_folds(nominal: ScoreTable, pool: Pool) -> None:
    valid = nominal.select(nominal.valid)
    for number in range(5):
        own = pool.fold == number
        mu, sigma = valid.rho_raw[~own].mean(), valid.rho_raw[~own].std()
        np.testing.assert_allclose(pool.nominal_scores["rho_z"][own], (valid.rho_raw[own] - mu) / (2 * sigma), rtol=1e-9)


def test_augmented_scores_use_all_nominal_rows(nominal: ScoreTable, augmented: ScoreTable, pool: Pool) -> None:
    expected = ScoreStatistics.fit(nominal, seed=3).scores(augmented)
    np.testing.assert_array_equal(pool.augmented_scores["delta"], expected["delta"])


def test_a_large_augmented_part_is_thinned_to_balance(nominal: ScoreTable) -> None:
    small = nominal.of_sequences(nominal.sequences()[:5])
    large = synthetic_table(np.random.default_rng(4), sequences=20, length=200, shift=1.0, protocol="fog")
    pool = build_pool(small, large)
    assert len(pool.balanced) == len(pool.nominal) == len(set(pool.balanced.tolist()))
    assert np.array_equal(pool.balanced, build_pool(small, large).balanced)
    half = large.of_sequences(large.sequences()[:8])
    assert len(build_pool(small, half).balanced) == len(half)


def test_unusable_augmented_tables_are_explained(nominal: ScoreTable, augmented: ScoreTable) -> None:
    with pytest.raises(AiccError, match="no valid row"):
        build_pool(nominal, replace(augmented, valid=np.zeros(len(augmented), dtype=bool)))
    with pytest.raises(AiccError, match="differ from"):
        build_pool(nominal, synthetic_table(np.random.default_rng(0), horizons=(1, 5)))
