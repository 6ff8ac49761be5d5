"""Whatever numbers a calibrator is allowed to have, its confidence rises with p and no anomaly makes it surer of safety.

`Calibrator` states the promise; here random parameters, drawn from all that `load_parameters` accepts, are held to it.
"""

import json

import numpy as np
import pytest

from donkey_aicc.calibration.anomaly_weights import W_MAX
from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.catalogue import DRIVABLE, calibrator_from_json, make_calibrator
from donkey_aicc.errors import AiccError

P = np.concatenate([[0.0], np.logspace(-7, -0.31, 150), [0.5], 1.0 - np.logspace(-0.31, -7, 150), [1.0]])
SLACK = 1e-12


def rising(rng, count, low=0.0, high=1.0):
    """Also flat stretches and the ends of the range."""
    values = np.sort(rng.choice(np.concatenate([rng.uniform(low, high, count), [low, high]]), count))
    return values.tolist()


def steps(rng, low=0.0, high=1.0):
    count = int(rng.integers(1, 12))
    return [rising(rng, count), rising(rng, count, low, high)]


def venn_abers(rng):
    """Any two rising step functions of which the lower one stays below: p1 holds up to its place, p0 from its own on."""
    where, upper = steps(rng)
    where = np.unique(where)
    upper = upper[: len(where)]
    return [[where.tolist(), np.minimum(rising(rng, len(where)), upper).tolist()], [where.tolist(), upper]]


CURVES = {
    "platt": lambda rng: [float(rng.choice([0.0, 50.0, rng.uniform(0, 50)])), float(rng.uniform(-50, 50))],
    "beta": lambda rng: [*rng.choice([0.0, 50.0, rng.uniform(0, 50)], 2).tolist(), float(rng.uniform(-50, 50))],
    "isotonic": lambda rng: steps(rng, 0.01, 0.99),
    "venn_abers": venn_abers,
}


def drawn(calibrator: Calibrator, rng: np.random.Generator) -> dict:
    """Parameters within what is accepted, its limits included."""
    mix = rng.dirichlet([0.3] * 3).tolist()
    mix[2] = 1.0 - mix[0] - mix[1]
    parameters = {
        "temperatures": {"5": float(rng.choice([0.1, 20.0, 10 ** rng.uniform(-1, 1.3)]))},
        "mixes": {"5": [max(part, 0.0) for part in mix]},
        "weights": {name: float(rng.choice([0.0, 1.0, rng.random()]) * W_MAX) for name in calibrator.score_names},
        "offset": float(rng.uniform(-10, 10)),
    }
    if calibrator.kind in CURVES:
        parameters[calibrator.stored_as] = {"5": CURVES[calibrator.kind](rng)}
    return parameters


@pytest.mark.parametrize("name", DRIVABLE)
def test_confidence_rises_with_p_and_no_score_raises_it_above_itself_or_a_half(name):
    rng = np.random.default_rng(0)
    for _ in range(60):
        calibrator = make_calibrator(name)
        calibrator.load_parameters(json.loads(json.dumps(drawn(calibrator, rng))))
        calm = calibrator.calibrate(P, {each: np.zeros(len(P)) for each in calibrator.score_names}, 5)
        for _ in range(4):
            scores = {each: np.full(len(P), rng.choice([0.0, 1.0, rng.random()])) for each in calibrator.score_names}
            found = calibrator.calibrate(P, scores, 5)
            assert np.isfinite(found).all() and found.min() >= 0.0 and found.max() <= 1.0
            assert np.diff(found).min() >= -SLACK
            assert (found <= np.maximum(calm, 0.5) + SLACK).all()


@pytest.mark.parametrize(
    ("name", "parameters", "rule"),
    [
        ("platt", {"coefficients": {"5": [-1.0, 0.0]}}, "slope .* must be a number in 0..50"),
        ("platt", {"coefficients": {"5": [1.0, 1e300]}}, "offset .* must be a number in -50..50"),
        ("isotonic", {"curves": {"5": [[0.1, 0.2, 0.3], [0.2, 0.9, 0.3]]}}, "must never fall"),
        ("isotonic", {"curves": {"5": [[0.1, 0.9, 0.3], [0.2, 0.3, 0.4]]}}, "must never fall"),
        ("isotonic", {"curves": {"5": [[0.1], [0.2, 0.3]]}}, "as many values as places"),
        ("isotonic", {"curves": {"5": [[], []]}}, "at least one"),
        ("histogram", {"values": {"5": np.linspace(0, 1, 15).tolist()}}, "no car drives with a calibrator of kind histogram"),
        ("venn_abers", {"steps": {"5": [[[0.1], [0.9]], [[0.1], [0.2]]]}}, "must not lie above"),
        ("ets", {"temperatures": {"5": 1.0}, "mixes": {"5": [2.0, -1.0, 0.0]}}, "must be a number in 0..1"),
        ("ets", {"temperatures": {"5": 1.0}, "mixes": {"5": [0.9, 0.9, 0.9]}}, "must add up to 1"),
        ("temperature", {"temperatures": {"1_0": 1.0}}, "plain digits, got '1_0'"),
        ("temperature", {"temperatures": {" 20 ": 1.0}}, "plain digits, got ' 20 '"),
        ("temperature", {"temperatures": {"5": True}}, "must be a number"),
        ("temperature", {"temperatures": {"5": "1.0"}}, "must be a number"),
        ("temperature", {"temperatures": {}}, "must be a table of horizons"),
        ("shrinkage", {"weights": {"rho": -1.0, "delta": 0.0}, "offset": 0.0}, "weight of rho must be a number in 0..20"),
        ("beta", {"coefficients": {"5": [1.0, -0.1, 0.0]}}, "slope .* must be a number in 0..50"),
        (
            "aicc_r",
            {"temperatures": {"5": 1.0}, "weights": {"rho": 1.0, "delta": 1.0, "hindsight": 21.0}},
            "weight of hindsight must be a number in 0..20",
        ),
        ("tta_rho", {"temperatures": {"5": 1.0}, "weights": {"rho": -0.1}}, "weight of rho must be a number in 0..20"),
    ],
)
def test_numbers_outside_of_the_form_are_refused(name, parameters, rule):
    with pytest.raises(AiccError, match=rule):
        make_calibrator(name).load_parameters(parameters)


def test_a_row_keeps_its_kind_its_scores_and_its_views():
    stored = make_calibrator("tta_rho_delta").to_json() | {
        "parameters": {"temperatures": {"5": 1.0}, "weights": {"rho": 0.0, "delta": 0.0}}
    }
    assert calibrator_from_json(stored).name == "tta_rho_delta"
    for change in ({"score_names": []}, {"score_names": ["rho"]}, {"starts_from": "p_safe"}, {"kind": "temperature"}):
        with pytest.raises(AiccError, match="of the calibrator tta_rho_delta must be"):
            calibrator_from_json(stored | change)
