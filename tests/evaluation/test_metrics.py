"""Every metric against a slow, direct second implementation, and against sklearn where it has one."""

import math

import numpy as np
import pytest
from sklearn import metrics as reference

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.metrics import (
    accuracy,
    ace,
    aurc,
    auroc,
    brier,
    ece_binary,
    ece_top_label,
    nll,
    reliability_curve,
    sce,
)

ALL = (ece_top_label, ece_binary, ace, sce, brier, nll, auroc, aurc, accuracy)


def samples(seed: int, count: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.5, size=count)
    return p, (rng.random(count) < p**1.7).astype(float)


def slow_ece(confidence: list[float], outcome: list[float], bins: int = 15) -> float:
    total = 0.0
    for number in range(bins):
        last = number == bins - 1
        inside = [i for i, c in enumerate(confidence) if number / bins <= c and (c < (number + 1) / bins or last)]
        if inside:
            gap = abs(sum(outcome[i] for i in inside) / len(inside) - sum(confidence[i] for i in inside) / len(inside))
            total += len(inside) / len(confidence) * gap
    return total


def top(p: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    confidence = [q if q >= 0.5 else 1 - q for q in p]
    return confidence, [float((q >= 0.5) == (label == 1)) for q, label in zip(p, y, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_binned_errors_agree_with_loops(seed: int) -> None:
    p, y = samples(seed)
    assert float(ece_top_label(p, y)) == pytest.approx(slow_ece(*top(p, y)), abs=1e-12)
    assert float(ece_binary(p, y)) == pytest.approx(slow_ece(list(p), list(y)), abs=1e-12)
    assert float(sce(p, y)) == pytest.approx((slow_ece(list(p), list(y)) + slow_ece(list(1 - p), list(1 - y))) / 2, abs=1e-12)
    ranked = sorted(zip(*top(p, y), strict=True))
    edges = [round(v) for v in np.cumsum([0] + [len(part) for part in np.array_split(np.arange(len(p)), 15)])]
    gaps = []
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        part = ranked[low:high]
        gaps.append(abs(sum(c for c, _ in part) - sum(right for _, right in part)) / len(part))
    assert float(ace(p, y)) == pytest.approx(sum(gaps) / 15, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_scores_agree_with_sklearn(seed: int) -> None:
    p, y = samples(seed)
    assert float(brier(p, y)) == pytest.approx(reference.brier_score_loss(y, p), abs=1e-12)
    assert float(nll(p, y)) == pytest.approx(reference.log_loss(y, np.clip(p, 1e-6, 1 - 1e-6)), abs=1e-12)
    assert float(auroc(p, y)) == pytest.approx(reference.roc_auc_score(y, p), abs=1e-12)
    rounded = np.round(p, 1)
    assert float(auroc(rounded, y)) == pytest.approx(reference.roc_auc_score(y, rounded), abs=1e-12)
    assert float(accuracy(p, y)) == pytest.approx(reference.accuracy_score(y, p >= 0.5))


def test_auroc_counts_pairs() -> None:
    p, y = samples(3, count=60)
    wins = [(a > b) + 0.5 * (a == b) for a in p[y == 1] for b in p[y == 0]]
    assert float(auroc(p, y)) == pytest.approx(np.mean(wins))


def test_aurc_is_the_mean_risk_over_coverages() -> None:
    p, y = samples(4, count=80)
    confidence, right = top(p, y)
    order = sorted(range(len(p)), key=lambda i: -confidence[i])
    risks = [sum(1 - right[i] for i in order[: n + 1]) / (n + 1) for n in range(len(p))]
    assert float(aurc(p, y)) == pytest.approx(np.mean(risks))
    assert float(aurc(np.full(10, 0.9), np.array([1, 0] * 5))) == pytest.approx(0.5)


def test_calibrated_draws_have_small_errors_and_overconfident_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(60_000)
    y = (rng.random(60_000) < p).astype(float)
    for metric in (ece_top_label, ece_binary, ace, sce):
        assert float(metric(p, y)) < 0.015, metric.__name__
    sharp = np.where(p > 0.5, 0.99, 0.01)
    assert float(ece_top_label(sharp, y)) == pytest.approx(0.24, abs=0.01)


def test_row_order_changes_nothing_even_with_ties() -> None:
    p, y = samples(1)
    p = np.round(p, 1)
    turned = np.random.default_rng(0).permutation(len(p))
    for metric in ALL:
        assert float(metric(p, y)) == pytest.approx(float(metric(p[turned], y[turned])), abs=1e-12), metric.__name__


def test_a_constant_base_rate_has_no_calibration_error() -> None:
    y = np.array([1.0, 1.0, 1.0, 0.0] * 30)
    for metric in (ece_top_label, ece_binary, ace, sce):
        assert float(metric(np.full(120, 0.75), y)) == pytest.approx(0.0, abs=1e-12)


def test_unknown_labels_do_not_count() -> None:
    p, y = samples(2)
    holed = np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    for metric in ALL:
        assert float(metric(p, holed)) == pytest.approx(float(metric(p[~np.isnan(holed)], y[~np.isnan(holed)])))


@pytest.mark.parametrize("metric", ALL)
def test_undefined_is_nan_with_a_reason(metric) -> None:
    nothing = metric(np.array([0.3, 0.4]), np.array([np.nan, np.nan]))
    assert math.isnan(nothing.value) and nothing.reason


def test_one_class_and_too_few_samples_say_so() -> None:
    assert "one class only: 3 positive, 0 negative" in auroc(np.array([0.1, 0.2, 0.3]), np.ones(3)).reason
    assert "cannot fill 15 bins" in ace(np.array([0.1, 0.2, 0.3]), np.ones(3)).reason
    assert "1 of 3 scores are unknown" in auroc(np.array([0.1, np.nan, 0.3]), np.array([1, 0, 1])).reason


def test_impossible_input_is_refused() -> None:
    with pytest.raises(AiccError, match=r"lie in \[0, 1\]"):
        ece_top_label(np.array([0.5, 1.5]), np.array([0.0, 1.0]))
    with pytest.raises(AiccError, match="one shape"):
        brier(np.zeros(3), np.zeros(4))


def test_reliability_curve_shows_where_the_error_lies() -> None:
    p, y = samples(0)
    curve = reliability_curve(np.maximum(p, 1 - p), (p >= 0.5) == (y > 0.5))
    assert curve.count[:7].sum() == 0 and np.isnan(curve.accuracy[:7]).all() and curve.count.sum() == len(p)
    assert curve.error() == pytest.approx(float(ece_top_label(p, y)))
