"""Confidence, and the promise that whatever goes wrong never makes it higher."""

import itertools
import json

import numpy as np
import pytest

from donkey_aicc.alarm.signs import SIGN_NAMES
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
from donkey_aicc.scoring.score_table import HORIZONS
from tests.monitor_under_test import light_alarm

CALM_FRAMES = light_alarm().signs.window  # in a row until a fault counts as over
P = [round(value, 3) for value in np.linspace(0.99, 0.02, len(HORIZONS))]  # sure of safe first, sure of unsafe last
GOOD = {"p": P, "rho": 0.3, "delta": 0.2, "age_s": 0.1, "valid": True, "state": "ok"}


@pytest.fixture
def part(calibrator):
    return AnomalyCalibrator(calibrator, HORIZONS, max_age_s=1.0)


def test_good_scores_give_the_calibrators_confidence(part, calibrator):
    confidence, least, status = part.run(**GOOD)
    scores = {"rho": np.array([0.3]), "delta": np.array([0.2])}
    wanted = [calibrator.calibrate(np.array([p]), scores, k)[0] for p, k in zip(P, HORIZONS, strict=True)]
    assert confidence == pytest.approx(wanted) and least == min(confidence) and status == "ok"
    assert all(type(value) is float for value in confidence)
    json.dumps([confidence, least, status], allow_nan=False)


@pytest.mark.parametrize("name", ["rho", "delta"])
def test_each_score_takes_confidence_towards_a_half_in_proportion_to_its_weight(part, calibrator, name):
    def logits(score):
        found = np.array(part.run(**(GOOD | {"rho": 0.0, "delta": 0.0} | {name: score}))[0])
        return np.log(found / (1 - found))

    assert logits(1.0) / logits(0.0) == pytest.approx(np.exp(-calibrator.weights[name])) and calibrator.weights[name] > 0.5
    assert logits(2.0) == pytest.approx(logits(1.0))  # beyond the scale is its end


@pytest.mark.parametrize(
    ("rho", "delta", "status"),
    [(0.99, 0.99, "ok"), (1.0, 0.2, "unusual picture"), (0.2, 1.0, "unusual driving"), (1.0, 1.0, "unusual picture and driving")],
)
def test_ok_is_not_said_while_a_score_is_at_its_end(part, rho, delta, status):
    assert part.run(**(GOOD | {"rho": rho, "delta": delta}))[2] == status


def test_scores_at_the_age_limit_still_count(part, calibrator):
    assert part.run(**(GOOD | {"age_s": 1.0}))[2] == "ok"
    usual = AnomalyCalibrator(calibrator, HORIZONS)
    assert [usual.run(**(GOOD | {"age_s": age_s}))[2] for age_s in (1.5, 1.51)] == ["ok", "scores stale"]


@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        ({"age_s": 1.01}, "scores stale"),
        ({"valid": False}, "warming up"),
        ({"rho": float("nan")}, "not finite"),
        ({"delta": float("inf")}, "not finite"),
        ({"age_s": float("nan")}, "not finite"),
        ({"rho": None}, "no scores"),
        ({"age_s": None}, "no scores"),
        ({"state": "scorer down", "valid": False}, "scorer down"),
        ({"state": "camera frozen", "valid": False}, "camera frozen"),
        ({"state": "no command"}, "no command"),
    ],
)
def test_trouble_with_the_scores_falls_to_a_bound_below_every_valid_reading(part, trouble, status):
    confidence, least, told = part.run(**(GOOD | trouble))
    assert told == status and least == min(confidence)
    for rho, delta in itertools.product(np.linspace(0, 1, 5), repeat=2):
        well = part.run(**(GOOD | {"rho": float(rho), "delta": float(delta)}))[0]
        assert all(cautious <= valid + 1e-12 for cautious, valid in zip(confidence, well, strict=True))
    usual = part.run(**GOOD)[0]
    assert all(cautious < valid for cautious, valid in zip(confidence, usual, strict=True))


@pytest.mark.parametrize(
    ("p", "state", "status"),
    [
        ([], "no image", "no image"),
        ([], "bad image", "bad image"),
        (None, None, "no image"),
        ([], "ok", "not finite"),
        ([], "warming up", "not finite"),
        ([float("nan")] * len(HORIZONS), "ok", "not finite"),
        ([1.5] * len(HORIZONS), "ok", "not finite"),
        ([0.5], "ok", "not finite"),
        (["x"] * len(HORIZONS), "ok", "calibration failed"),
    ],
)
def test_without_a_usable_probability_confidence_is_zero(part, p, state, status):
    assert part.run(**(GOOD | {"p": p, "state": state})) == ([0.0] * len(HORIZONS), 0.0, status)


def test_bundle_without_calibrator_is_never_more_than_half_sure():
    confidence, least, status = AnomalyCalibrator(None, HORIZONS).run(**GOOD)
    assert status == "no calibrator" and confidence == [min(p, 0.5) for p in P] and least == P[-1]


def test_five_channels_as_in_the_docs_are_enough(part):
    assert part.run(P, 0.3, 0.2, 0.1, True)[2] == "ok"


def test_further_scores_reach_a_calibrator_that_asks_for_them(calibrator):
    calibrator.score_names, calibrator.weights = ("log_rho", "tta_spread"), {"log_rho": 1.0, "tta_spread": 1.0}
    part = AnomalyCalibrator(calibrator, HORIZONS)
    calm = part.run(**GOOD, scores={"log_rho": 0.0}, frame_scores={"tta_spread": 0.0})
    hot = part.run(**GOOD, scores={"log_rho": 1.0}, frame_scores={"tta_spread": 1.0})
    assert calm[2] == hot[2] == "ok" and hot[0][0] < calm[0][0]
    assert part.run(**GOOD)[2] == "no scores"


def test_a_calibrator_of_another_bundle_is_refused_before_the_drive(calibrator):
    with pytest.raises(AiccError, match="has no horizon 7"):
        AnomalyCalibrator(calibrator, [7])
    with pytest.raises(ConfigError, match="max_age_s must be > 0, got 0"):
        AnomalyCalibrator(calibrator, HORIZONS, max_age_s=0)


def frames_with_light(light):
    """Signs of a frame as the scorer hands them over: None for what is not known."""
    return [light if name == "light" else None for name in SIGN_NAMES]


USUAL, DARK = frames_with_light(-0.68), frames_with_light(-9.0)


def test_a_fault_that_is_over_is_forgotten_once_the_frames_were_usual_for_a_while(calibrator):
    calibrator.alarm = light_alarm()
    part = AnomalyCalibrator(calibrator, HORIZONS, max_age_s=1.0)
    calm, strange = GOOD | {"rho": 0.1, "delta": 0.0}, GOOD | {"rho": 0.9, "delta": 0.8}
    for _ in range(30):
        before = part.run(**calm, signs=USUAL)[0]
    for _ in range(5):
        during = part.run(**strange, signs=DARK)[0]
    behind = [part.run(**strange, signs=USUAL)[0] for _ in range(CALM_FRAMES)]  # the context still holds the fault
    assert during != pytest.approx(before)
    assert all(confidence == pytest.approx(during) for confidence in behind[:-1])
    assert behind[-1] == pytest.approx(before)
    part.run(**(strange | {"valid": False}), signs=USUAL)  # a new sequence: nothing is left to go back to
    assert part.run(**strange, signs=USUAL)[0] == pytest.approx(during)


@pytest.mark.parametrize("signs", [None, [], USUAL])
def test_without_an_alarm_or_without_signs_nothing_is_forgotten(part, calibrator, signs):
    strange = GOOD | {"rho": 0.9, "delta": 0.8}
    wanted = part.run(**strange)[0]
    for _ in range(30):
        part.run(**GOOD, signs=signs)
    assert [part.run(**strange, signs=signs)[0] for _ in range(CALM_FRAMES + 1)] == [wanted] * (CALM_FRAMES + 1)


def test_certain_probabilities_are_usable(part):
    confidence, _, status = part.run(**(GOOD | {"p": [0.0] * (len(P) - 1) + [1.0]}))
    assert status == "ok" and confidence[0] < 0.1 < 0.9 < confidence[-1]
