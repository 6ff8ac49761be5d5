"""Rows of other predictors and other grades, on tables whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.pool import of_sources
from studies.grade_rows import grade_rows, grade_table
from studies.predictor_rows import predictor_rows, predictor_table
from tests.evaluation.conftest import make_tables


@pytest.fixture(scope="module")
def tables():
    made = make_tables(3)
    halved = [replace(table, half_rollout=table.features[:, :3]) for table in (made.calibration, made.augmented, made.test)]
    ood = {name: replace(table, half_rollout=table.features[:, :3]) for name, table in made.ood.items()}
    return made._replace(calibration=halved[0], augmented=halved[1], test=halved[2], ood=ood)


def test_a_coin_is_a_worse_predictor_than_the_net(tables):
    rows = {"calibration": tables.calibration, "test": tables.test, **tables.ood}
    rng = np.random.default_rng(0)
    coin = {name: rng.random(table.p_safe.shape) for name, table in rows.items()}
    found = predictor_rows(rows, {"place": coin}, seed=0)
    assert found["direct"]["auroc"]["nominal"]["mean"]["value"] > 0.6
    assert found["place"]["auroc"]["nominal"]["mean"]["value"] == pytest.approx(0.5, abs=0.1)
    assert found["place"]["nll"]["nominal"]["value"] > found["direct"]["nll"]["nominal"]["value"]
    assert found["place"]["auroc_below_direct"]["low"] > 0
    bounds = found["place"]["gain"]["nominal_nll"]
    assert bounds["low"] <= bounds["high"] < 0  # it costs likelihood, on any drawn drives
    assert {row.label for row in predictor_table(found).rows} == {"Net of the bundle", "Place alone"}


def test_half_with_the_same_numbers_equals_full_and_light_lacks_the_rollouts(tables):
    found = grade_rows(*tables, seed=0, calibrators={})
    assert set(found) == {"full", "half", "light"}
    assert found["half"]["ece"] == found["full"]["ece"] != found["light"]["ece"]
    assert found["full"]["ood_auroc"]["dark"]["rho"] == found["light"]["ood_auroc"]["dark"]["rho"]
    assert [row.label for row in grade_table(found).rows] == ["full", "half", "light"]
    timed = grade_table(found, times={"grades_ms": {"full": 39.9, "light": 3.7}, "prediction_ms": 1.7})
    assert [row.values["ms"].number for row in timed.rows] == [39.9, None, 3.7]


def test_pieces_of_a_drive_without_settled_frames_are_left_out(tables):
    first = tables.calibration.sequences()[0]
    late = tables.calibration.select(tables.calibration.sequence != first)
    kept = of_sources(tables.augmented, late.sequences())
    assert 0 < len(kept) < len(tables.augmented)
    assert not any(name.startswith(f"{first}~") for name in kept.sequences())
    assert len(of_sources(tables.augmented, tables.calibration.sequences())) == len(tables.augmented)
