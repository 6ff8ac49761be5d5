"""What the study asks beyond a user's report: frontier, early warning, ridge, oracles."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.evaluation.study import evaluate
from donkey_aicc.scoring.statistics import ScoreStatistics
from studies.early_warning import Driving, early_warning
from studies.frontier import ood_ece_at
from studies.study_evaluation import evaluate_study
from tests.synthetic_scores import synthetic_table


def test_a_users_numbers_stay_and_the_study_adds_its_own(results, tables):
    users = evaluate(*tables, seeds=2, draws=100)
    own = {"safe_share", "bounds", "frontier", "lambda", "early_warning"}
    assert own <= set(results) and not own & set(users)
    assert {name: results[name] for name in users if name != "summary"} == {n: v for n, v in users.items() if n != "summary"}
    assert all(said in results["summary"] for said in users["summary"])
    assert "departures announced in time" in results["summary"][-1]["text"]
    assert set(results["lambda"]) == {"1e-06", "0.01"}
    assert set(results["early_warning"]["methods"]["none"]) == {"threshold", "nominal", "protocols"}


def test_what_cannot_be_measured_says_why(tables):
    blind = [replace(one, cnn_features=np.full_like(one.cnn_features, np.nan)) for one in tables[:3]]
    dark = replace(tables.ood["dark"], cnn_features=np.full_like(tables.ood["dark"].cnn_features, np.nan))
    found = evaluate_study(*blind, {"dark": dark}, seeds=1, draws=20, lambdas=(1e-6,))
    assert "dac" not in found["frontier"]["curves"] and "rho" in found["frontier"]["curves"]
    assert "not given" in found["early_warning"]["reason"]


def test_frontier_is_read_between_its_points_and_never_beyond_the_nominal_price():
    curve = np.array([[0.02, 0.30], [0.04, 0.20], [0.08, 0.10], [0.12, 0.15]])
    assert ood_ece_at(curve, 0.06) == pytest.approx(0.15)
    assert ood_ece_at(curve, 0.2) == pytest.approx(0.10)
    assert np.isnan(ood_ece_at(curve, 0.01))


def test_frontier_starts_at_temperature_scaling_of_tta(results):
    curves, tta = results["frontier"]["curves"], results["calibration"]["tta"]["ece"]
    for curve in curves.values():
        assert curve["nominal_ece"][0] == pytest.approx(tta["nominal"]["mean"], abs=1e-5)
        assert curve["ood_ece"][0] == pytest.approx(tta["ood_mean"]["mean"], abs=1e-5)


def test_early_warning_uses_the_least_confidence_and_matches_false_alarms():
    rng = np.random.default_rng(0)
    nominal = synthetic_table(rng, sequences=4, length=100, horizons=(5, 10))
    calm = replace(nominal, cte=np.zeros(len(nominal)), p_safe=np.full((len(nominal), 2), 0.9))
    p = np.full((len(nominal), 2), 0.9)
    p[(nominal.step >= 70) & (nominal.step < 80), 1] = 0.1
    cte = np.where(nominal.step >= 80, 1.0, 0.0)
    odd = replace(nominal, cte=cte, p_safe=p, protocol=np.full(len(nominal), "dark"))
    none = make_calibrator("none").fit(nominal)
    driving = Driving(departed_m=0.5, rate_hz=10.0, frames_per_lap=50.0)
    found = early_warning({"none": none}, ScoreStatistics.fit(nominal), calm, {"dark": odd}, driving)["none"]
    dark = found["protocols"]["dark"]
    assert dark["departures"] == dark["announced"] == 4 and dark["median_lead_s"] == 1.0
    assert found["nominal"]["false_alarms_per_unit"] <= 1.0
    assert found["nominal"]["reason"] == "no departure"
