"""Hindsight against its definition, and what it must tell apart."""

import numpy as np
import pytest

from donkey_aicc.scoring.hindsight import CERTAIN, Hindsight

HORIZONS = (1, 5, 15, 30)


def along(p, context=100, lanes=1):
    """p: (frames, lanes, K) -> (frames, lanes)."""
    stream = Hindsight(HORIZONS, lanes, context)
    return np.stack([stream.update(each) for each in p])


def slowly(p, context):
    """Cross-entropy of the forecast of 15 frames ago against today's belief minus its own entropy, averaged, by the book."""
    far, belief = np.clip(p[:, 2], CERTAIN, 1 - CERTAIN), p[:, 0]
    surprise = [
        -(q * np.log(f) + (1 - q) * np.log(1 - f)) + (f * np.log(f) + (1 - f) * np.log(1 - f))
        for f, q in zip(far[:-15], belief[15:], strict=True)
    ]
    return [float(np.mean(surprise[max(0, i - 14 - context) : i - 14])) if i >= 15 else 0.0 for i in range(len(p))]


@pytest.mark.parametrize("context", [10, 100])
def test_it_is_the_cross_entropy_beyond_what_the_forecast_announced(context):
    p = np.random.default_rng(0).random((150, 2, len(HORIZONS)))
    hindsight = along(p, context, lanes=2)
    for lane in range(2):
        assert hindsight[:, lane] == pytest.approx(slowly(p[:, lane], context), abs=1e-12)


def test_forecasts_that_come_true_as_often_as_they_say_are_no_surprise_and_sure_ones_that_do_not_are():
    rng = np.random.default_rng(1)
    forecast = rng.choice([0.1, 0.9], size=4000)
    p = np.full((4000, 1, len(HORIZONS)), 0.5)
    p[:, 0, 2] = forecast
    p[15:, 0, 0] = rng.random(3985) < forecast[:-15]
    honest = along(p, context=3000)[-1, 0]
    p[15:, 0, 0] = rng.random(3985) < 0.5
    wrong = along(p, context=3000)[-1, 0]
    assert abs(honest) < 0.05 and wrong > 0.5


def test_the_past_alone_counts_and_a_new_sequence_has_none():
    p = np.random.default_rng(2).random((80, 1, len(HORIZONS)))
    whole = along(p)
    changed = p.copy()
    changed[60:] = 0.5
    assert np.array_equal(along(changed)[:60], whole[:60])
    stream = Hindsight(HORIZONS, 1, 100)
    for each in p[:40]:
        stream.update(each)
    stream.reset(1)
    assert [float(stream.update(each)[0]) for each in p] == pytest.approx(whole[:, 0])
    stream.keep(np.array([0]))


def test_one_wrong_look_cannot_rule_the_context():
    p = np.full((100, 1, len(HORIZONS)), 0.5)
    p[50, 0, 2], p[65, 0, 0] = 1.0, 0.0
    assert along(p)[-1, 0] < -np.log(CERTAIN) / 80
