"""AICC+ robust: the worst share of safe frames within a range, faults that were driven, never a test protocol."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.calibration.anomaly_weights import HeatShiftProblem, WorstShareProblem
from donkey_aicc.calibration.base import mean_nll
from donkey_aicc.calibration.cautious import CautiousTemperature
from donkey_aicc.calibration.pool import Pool, build_pool
from donkey_aicc.calibration.robust import SAFE_SHARES, RobustTemperature
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from tests.synthetic_scores import synthetic_table


def driven_table(safe_share: float, seed: int = 9, length: int = 200) -> ScoreTable:
    """Two families under which predictions hardly count and the share of safe frames is as given."""
    rng = np.random.default_rng(seed)
    parts = []
    for family in ("fog", "grip"):
        part = synthetic_table(rng, sequences=3, length=length, shift=1.0, weights=(3.0, 2.0), protocol=family, severity=3)
        drawn = (rng.random(part.labels.shape) < safe_share).astype(float)
        nominal_start = part.step < 20
        parts.append(
            replace(
                part,
                labels=np.where(np.isnan(part.labels), np.nan, drawn),
                protocol=np.where(nominal_start, "", part.protocol),
            )
        )
    return concatenate(parts)


def worst_nll(confidence: np.ndarray, labels: np.ndarray, shares: tuple[float, float] = SAFE_SHARES) -> float:
    """By reweighting, over a fine grid of shares."""
    safe, unsafe = (mean_nll(confidence[labels == kind], labels[labels == kind]) for kind in (1.0, 0.0))
    return max(share * safe + (1 - share) * unsafe for share in np.linspace(*shares, 61))


def test_worst_share_agrees_with_reweighting_and_its_gradient_with_differences() -> None:
    rng = np.random.default_rng(1)
    labels = np.where(rng.random((60, 3)) < 0.1, np.nan, rng.random((60, 3)) < 0.3)
    logits, scores = rng.normal(1, 2, size=(60, 3)), rng.random((60, 2))
    problem = WorstShareProblem(logits, labels, scores, (0.2, 0.8))
    at = np.array([0.3, 0.1, 0.2, 0.6])
    x = logits * np.exp(-(scores @ at[:2]))[:, None] - (scores @ at[2:])[:, None]
    assert problem.nll(at) == pytest.approx(worst_nll(1 / (1 + np.exp(-x)), labels, (0.2, 0.8)), abs=0.01)
    numeric = [(problem.nll(at + step) - problem.nll(at - step)) / 2e-5 for step in np.eye(4) * 1e-5]
    assert problem.nll_and_gradient(at)[1] == pytest.approx(numeric, abs=1e-6)
    with pytest.raises(AiccError, match="one kind only"):
        WorstShareProblem(logits, np.ones((60, 3)), scores, (0.2, 0.8))


def test_frames_before_the_fault_and_test_protocols_have_no_part(nominal: ScoreTable, augmented: ScoreTable) -> None:
    pool = build_pool(nominal, augmented, driven=driven_table(0.5))
    assert pool.driven is not None and set(pool.driven.protocol) == {"fog", "grip"} and pool.driven.step.min() == 20
    dark = synthetic_table(np.random.default_rng(0), sequences=1, length=50, protocol="dark")
    with pytest.raises(AiccError, match="dark are for tests only"):
        build_pool(nominal, augmented, driven=dark)
    with pytest.raises(AiccError, match="full context"):
        build_pool(nominal, augmented, driven=nominal)


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_it_holds_whichever_way_safety_goes_and_the_bet_does_not(
    share: float, nominal: ScoreTable, augmented: ScoreTable
) -> None:
    """Fitted where 30 or 70 % are safe: the worst share costs it less than it costs the form that bets on one share."""
    pool = build_pool(nominal, augmented, driven=driven_table(share))
    robust = RobustTemperature(nll_budget=0.05).fit(nominal, pool)
    assert robust.fit_report["fitted_on"] == "driven faults"
    betting = CautiousTemperature(nll_budget=0.05).fit(nominal, pool)
    test = driven_table(0.5, seed=30)
    test = test.select(test.protocol != "")
    worst = [worst_nll(fitted.predict(test), test.labels) for fitted in (robust, betting)]
    assert worst[0] < worst[1] - 0.02
    assert worst[0] < np.log(2) + 0.15


def test_it_keeps_to_the_nominal_budget(nominal: ScoreTable, augmented: ScoreTable) -> None:
    pool = build_pool(nominal, augmented, driven=driven_table(0.5))
    fitted = RobustTemperature().fit(nominal, pool)
    problem = fitted._nominal_problem(pool)
    assert isinstance(problem, HeatShiftProblem)
    parameters = np.array([*fitted.weights.values(), *fitted.shifts.values()])
    assert problem.nll(parameters) <= problem.nll(np.zeros(len(parameters))) + fitted.nll_budget + 1e-6


def test_without_driven_faults_it_says_that_it_used_d_aug(nominal: ScoreTable, pool: Pool) -> None:
    fitted = RobustTemperature().fit(nominal, pool)
    assert "no driven faults" in fitted.fit_report["fitted_on"]
    assert fitted.fit_report["families"] == ["fog", "frost", "speed_mismatch"]
    assert min(fitted.fit_report["left_out_family_nll"].values()) > 0


def test_the_form_is_the_one_that_serves_families_left_out_best(nominal: ScoreTable, augmented: ScoreTable) -> None:
    pool = build_pool(nominal, augmented, driven=driven_table(0.5))
    fitted = RobustTemperature().fit(nominal, pool)
    tried = fitted.fit_report["left_out_family_nll"]
    assert len(tried) == 8
    best = min(tried, key=lambda form: tried[form])
    assert best.removesuffix(", presuming") == " + ".join(fitted.score_names)
    assert best.endswith("presuming") == fitted.presumes
    if not fitted.presumes:
        assert set(fitted.shifts.values()) == {0.0}


def test_impossible_ranges_are_refused() -> None:
    with pytest.raises(AiccError, match="two rising shares"):
        RobustTemperature(safe_shares=(0.8, 0.2))
