"""Scores are taken from an earlier command only where everything that they depend on is the same."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration import score_cache
from donkey_aicc.calibration.score_cache import score_once
from donkey_aicc.errors import ConfigError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.scoring import parallel
from donkey_aicc.scoring.lower_grades import grades_of, table_at
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.tubs.drive import make_drive
from tests.monitor_under_test import SETTINGS, make_bundle
from tests.synthetic_scores import synthetic_table


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return Bundle.load(make_bundle(tmp_path_factory.mktemp("bundle") / "bundle"))


@pytest.fixture
def drive():
    images = np.random.default_rng(0).integers(0, 256, (6, 64, 64, 3)).astype(np.uint8)
    return make_drive("tub", "session", images, np.full((6, 2), 0.1), safe=np.ones(6))


@pytest.fixture
def scored(monkeypatch):
    """How often something was really scored."""
    calls, score_drives = [], parallel.score_drives
    monkeypatch.setattr(parallel, "score_drives", lambda *a, **more: calls.append(1) or score_drives(*a, **more))
    return calls


def test_the_same_again_is_taken_from_the_cache_and_said(bundle, drive, scored, tmp_path, capsys):
    first = score_once(bundle, [drive], settings=SETTINGS, cache_dir=tmp_path, title="scoring mine")
    assert "scored before" not in capsys.readouterr().out
    second = score_once(bundle, [drive], settings=SETTINGS, cache_dir=tmp_path, title="scoring mine")
    assert len(scored) == 1 and "scoring mine: the same bundle, settings and drives" in capsys.readouterr().out
    for name in ("p_safe", "rho_raw", "features", "labels", "valid"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("what", ["picture", "command", "label", "settings", "order"])
def test_any_change_is_scored_anew(bundle, drive, scored, tmp_path, what):
    drives, settings = [drive, replace(drive, id="other")], SETTINGS
    score_once(bundle, drives, settings=settings, cache_dir=tmp_path)
    if what == "picture":
        drives[0] = replace(drive, images=np.where(np.arange(6)[:, None, None, None] == 5, 0, drive.images))
    elif what == "command":
        drives[0] = replace(drive, actions=drive.actions + 0.01)
    elif what == "label":
        drives[0] = replace(drive, safe=np.zeros(6))
    elif what == "settings":
        settings = replace(SETTINGS, seed=1)
    else:
        drives.reverse()
    score_once(bundle, drives, settings=settings, cache_dir=tmp_path)
    assert len(scored) == 2


def test_only_the_newest_tables_are_kept(bundle, drive, scored, tmp_path, monkeypatch):
    monkeypatch.setattr(score_cache, "MOST_KEPT", 2)
    for number in range(3):
        score_once(bundle, [replace(drive, id=str(number))], settings=SETTINGS, cache_dir=tmp_path)
    assert len(list((tmp_path / "scores").glob("*.npz"))) == 2
    score_once(bundle, [replace(drive, id="2")], settings=SETTINGS, cache_dir=tmp_path)
    assert len(scored) == 3


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
