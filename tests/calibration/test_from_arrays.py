"""Plain arrays in, confidence out, by the calibrators of the report; and calibrators that others add to it."""

import json

import numpy as np
import pytest

from donkey_aicc.calibration.base import Calibrator
from donkey_aicc.calibration.calibrator_file import check_promise
from donkey_aicc.calibration.catalogue import make_calibrator, register_calibrator
from donkey_aicc.calibration.from_arrays import Confidence, fit_confidence
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.evaluation.methods_and_conditions import methods
from tests.synthetic_scores import synthetic_table


def made_up(rng, drives=30, temperature=2.0, weight=1.5):
    """Every second drive is anomalous: its labels follow a temperature that is exp(weight * strange) higher."""
    drive = np.repeat(np.arange(drives), 150)
    strange = (drive % 2) * rng.uniform(0.3, 1.0, len(drive))
    logits = rng.normal(0.5, 3.0, (len(drive), 2))
    held = rng.random(logits.shape) < 1 / (1 + np.exp(-logits / (temperature * np.exp(weight * strange))[:, None]))
    raw = 100.0 + 2.0 * strange + rng.normal(0.0, 0.05, len(drive))  # nominal spread .05: strange 0.05 is a score of 1
    return 1 / (1 + np.exp(-logits)), held.astype(float), raw, drive


def test_it_finds_the_temperature_and_that_the_score_counts():
    p, y, raw, drive = made_up(np.random.default_rng(0))
    fitted = fit_confidence(p, y, {"odd": raw}, drive, nominal=drive % 2 == 0)
    found = fitted.calibrator.parameters()
    assert found["temperatures"]["1"] == pytest.approx(2.0, abs=0.2) and found["weights"]["odd"] > 0.3
    sure = np.full((1, 2), 0.99)
    calm, odd = (fitted.apply(sure, {"odd": [value]})[0, 0] for value in (100.0, 102.0))
    assert 0.85 < calm < 0.95 and 0.5 <= odd < calm - 0.1
    again = Confidence.from_json(json.loads(json.dumps(fitted.to_json(), allow_nan=False)))
    assert again.apply(p, {"odd": raw}).tolist() == fitted.apply(p, {"odd": raw}).tolist()


def test_without_scores_it_is_the_row_of_the_catalogue():
    table = synthetic_table(np.random.default_rng(1), sequences=4, horizons=(1, 5))
    for method in ("temperature", "platt", "isotonic", "ets"):
        fitted = fit_confidence(table.p_safe, table.labels, groups=table.sequence, method=method)
        wanted = make_calibrator(method).fit(table).predict(table)
        assert fitted.apply(table.p_safe) == pytest.approx(wanted, abs=1e-9)
    one = fit_confidence(table.p_safe[:, 0], table.labels[:, 0])
    assert one.apply(table.p_safe[:, 0]).shape == (len(table),)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p": np.full(6, 2.0)}, "p must lie in"),
        ({"y": np.full(6, 2.0)}, "y must be 0, 1 or NaN"),
        ({"y": np.zeros(5)}, "must have the same shape"),
        ({"y": np.zeros(6)}, "needs safe and unsafe calibration frames"),
        ({"groups": np.zeros(3)}, r"groups must have the shape \(6,\), got \(3,\)"),
        ({"scores": {"a": np.full(6, np.nan)}}, "score a must be 6 finite numbers"),
        ({"scores": {"a": np.zeros(6)}, "groups": np.zeros(6)}, "scores need nominal rows of at least 2 groups, got 1"),
        ({"method": "magic"}, "calibrator must be one of"),
    ],
)
def test_mistakes_are_named(change, said):
    given = {"p": np.linspace(0, 1, 6), "y": np.array([0, 1, 0, 1, 0, 1.0])}
    with pytest.raises(AiccError, match=said):
        fit_confidence(**{**given, **change})


class Own(Calibrator):
    kind, shown_as = "own", "My own"
    slope = 0.5

    def __init__(self, name="own"):
        super().__init__(name, score_names=("rho",))

    def fit(self, table, pool=None):
        return self

    def calibrate(self, p, scores, horizon):
        return 0.5 + self.slope * (p - 0.5) * (1.0 - 0.5 * scores["rho"])


def test_a_registered_calibrator_is_a_row_of_the_report(own_registries):
    register_calibrator("own", Own)
    assert methods()["own"].label == "My own" and methods()["own"].group == "own"
    assert make_calibrator("own").kind == "own"


def test_the_promise_is_tried_on_numbers():
    check_promise(Own(), (1, 5))
    falling, raising, outside = Own(), Own(), Own()
    falling.slope = -0.5
    outside.slope = 3.0
    raising.calibrate = lambda p, scores, horizon: np.clip(p + 0.3 * scores["rho"], 0.0, 1.0)
    for calibrator, said in ((falling, "must never fall as p rises"), (raising, "no score may raise"), (outside, "from 0 to 1")):
        with pytest.raises(AiccError, match=said):
            check_promise(calibrator, (1, 5))


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("temperature", Own, "must be new, got 'temperature'"),
        ("Mine", Own, "must be small letters"),
        ("mine", 3, "must be callable, got 3"),
        ("mine", Own, "must return a Calibrator of that name"),
    ],
)
def test_what_cannot_be_registered_is_named(own_registries, name, make, said):
    with pytest.raises(ConfigError, match=said):
        register_calibrator(name, make)


def test_further_scores_belong_to_a_row_that_weighs_scores(own_registries):
    row = make_calibrator("aicc_r+glare+fog")
    assert row.score_names == (*make_calibrator("aicc_r").score_names, "glare", "fog")
    assert row.name == "aicc_r+glare+fog" and row.label.endswith("+ glare + fog")
    with pytest.raises(ConfigError, match="platt takes no further score"):
        make_calibrator("platt+glare")
