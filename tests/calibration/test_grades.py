from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.score_cache import grades_of, table_at
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.errors import ConfigError
from tests.synthetic_scores import synthetic_table


@pytest.fixture
def table():
    found = synthetic_table(np.random.default_rng(0))
    half = np.random.default_rng(1).normal(size=(len(found), 3))
    half[:2] = np.nan  # before the first rollout of grade half is done
    return replace(found, half_rollout=half)


def test_each_grade_sees_its_own_features(table):
    full, half, light = (table_at(table, grade) for grade in ("full", "half", "light"))
    assert full is table
    np.testing.assert_array_equal(half.features[:, :3], table.half_rollout)
    assert not light.features[:, :3].any()
    for each in (half, light):
        np.testing.assert_array_equal(each.features[:, 3:], table.features[:, 3:])
    assert not half.valid[:2].any() and light.valid.tolist() == table.valid.tolist()


def test_constants_of_grade_light_have_no_part_in_delta(table):
    light = table_at(table, "light")
    statistics = ScoreStatistics.fit(light)
    assert not statistics.dynamics.inverse[:3].any()
    assert np.isfinite(statistics.scores(light)["delta"]).all()


def test_which_grades_a_table_can_be_fitted_for(table):
    assert grades_of(table) == ("full", "half", "light")
    assert grades_of(replace(table, half_rollout=np.full((len(table), 3), np.nan))) == ("full", "light")
    assert grades_of(table, "light") == ("light",)
    with pytest.raises(ConfigError, match="grade must be one of"):
        table_at(table, "quarter")
