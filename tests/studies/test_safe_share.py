"""Other shares of safe frames, and oracles: checked against plain weighting and plain inequalities."""

import numpy as np
import pytest

from donkey_aicc.evaluation.metrics import bin_sums
from donkey_aicc.evaluation.smooth_calibration import residual_sums
from donkey_aicc.evaluation.split_study import Outcome, nll_sums
from studies.oracle_bounds import _refitted, _shifted
from studies.safe_share import ByClass, at_share

HORIZONS = np.array([5, 50])


def outcome(confidence: np.ndarray, labels: np.ndarray) -> ByClass:
    group = np.zeros(len(labels), dtype=np.int64)
    safe = np.where(labels > 0.5, labels, np.nan)
    sums = [bin_sums(confidence, one, group) for one in (labels, safe)]
    losses = [nll_sums(confidence, one, group, 1) for one in (labels, safe)]
    return ByClass(Outcome({}, {}, sums[0], residual_sums(confidence, labels), losses[0]), sums[1], losses[1])


def test_weighting_equals_repeating_frames() -> None:
    rng = np.random.default_rng(0)
    labels = np.tile((rng.random(400) < 0.25).astype(float)[:, None], (1, 2))
    confidence = np.clip(0.5 + 0.3 * (labels - 0.5) + 0.2 * rng.standard_normal(labels.shape), 0.01, 0.99)
    wanted = at_share(outcome(confidence, labels), 0.5, HORIZONS)
    safe, unsafe = labels[:, 0] > 0.5, labels[:, 0] < 0.5
    times = np.concatenate([np.repeat(np.flatnonzero(safe), unsafe.sum()), np.repeat(np.flatnonzero(unsafe), safe.sum())])
    assert at_share(outcome(confidence[times], labels[times]), None, HORIZONS) == pytest.approx(wanted)
    assert at_share(outcome(confidence, labels), float(labels.mean()), HORIZONS) == pytest.approx(
        at_share(outcome(confidence, labels), None, HORIZONS)
    )


def test_a_guess_at_the_base_rate_is_good_at_that_rate_only() -> None:
    labels = np.tile((np.arange(100) < 30).astype(float)[:, None], (1, 2))
    guess = outcome(np.full(labels.shape, 0.3), labels)
    assert at_share(guess, 0.3, HORIZONS)[0] == pytest.approx(0.0)
    assert at_share(guess, 0.7, HORIZONS)[0] == pytest.approx(0.4)


def test_a_horizon_with_one_class_only_is_left_out_and_the_others_count() -> None:
    labels = np.stack([(np.arange(100) < 30), np.ones(100)], axis=1).astype(float)
    guess = outcome(np.full(labels.shape, 0.3), labels)
    assert at_share(guess, 0.7, HORIZONS)[0] == pytest.approx(0.4)  # of the first horizon alone
    assert at_share(guess, None, HORIZONS)[0] == pytest.approx(0.35)  # as driven, both count: 0.0 and 0.7
    assert np.isnan(at_share(outcome(np.full(labels.shape, 0.3), np.ones_like(labels)), 0.7, HORIZONS)).all()


def test_oracles_know_what_they_say() -> None:
    rng = np.random.default_rng(1)
    logits = rng.standard_normal(3000) * 2
    labels = (rng.random(3000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))).astype(float)

    def loss(z: np.ndarray) -> float:
        return float(np.logaddexp(0.0, np.where(labels > 0.5, -z, z)).mean())

    shifted, refitted = _shifted(logits, labels), _refitted(logits, labels)
    assert float((1 / (1 + np.exp(-shifted))).mean()) == pytest.approx(labels.mean(), abs=1e-6)
    assert np.ptp(shifted - logits) < 1e-9 and loss(refitted) < loss(shifted) < loss(logits)
    assert np.polyfit(logits, refitted, 1) == pytest.approx([0.5, -1.0], abs=0.15)


def test_drawing_each_drive_once_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    labels = np.tile((rng.random(60) < 0.4).astype(float)[:, None], (1, 2))
    confidence = np.clip(rng.random(labels.shape), 0.05, 0.95)
    one = outcome(confidence, labels)
    drawn = at_share(one, 0.6, HORIZONS, np.ones((3, 1)))
    assert drawn.shape == (3, 2) and np.allclose(drawn, at_share(one, 0.6, HORIZONS))
