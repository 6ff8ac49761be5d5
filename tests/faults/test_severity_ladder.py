"""Severities follow the accuracy of a predictor whose weakness is known."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.d_aug import FamilyLadder, balanced_accuracy, severity_for_accuracy_drop, strengths_of

N = 120


def frames() -> tuple[np.ndarray, np.ndarray]:
    """Safe frames are brighter on the left, by different amounts; the label is that."""
    rng = np.random.default_rng(0)
    labels = (rng.random(N) < 0.6).astype(float)
    images = np.full((N, 32, 32, 3), 120, dtype=np.int16) + rng.integers(-15, 16, size=(N, 32, 32, 3))
    gain = (rng.uniform(2, 40, size=N) * np.where(labels > 0.5, 1, -1)).astype(np.int16)
    images[:, :, :16] += gain[:, None, None, None]
    return np.clip(images, 0, 255).astype(np.uint8), labels


def left_minus_right(images: np.ndarray) -> np.ndarray:
    pixels = images.astype(float).mean(axis=(1, 3))
    return 1 / (1 + np.exp(-(pixels[:, :16].mean(axis=1) - pixels[:, 16:].mean(axis=1))))


def test_balanced_accuracy_ignores_unknown_labels_and_imbalance() -> None:
    p = np.array([0.9, 0.9, 0.9, 0.9, 0.1])
    assert balanced_accuracy(p, np.array([1.0, 1.0, 1.0, 0.0, np.nan])) == 0.5


def test_strengths_rise_and_meet_the_ladder() -> None:
    images, labels = frames()
    ladders = severity_for_accuracy_drop(left_minus_right, images, labels, seed=1, families=("fog", "salt_and_pepper"))
    for ladder in ladders.values():
        assert (np.diff(ladder.strengths) > 0).all() and ladder.strengths[0] > 0 and ladder.strengths[-1] <= 1
        assert (np.diff(ladder.targets) < 0).all()
        reached = np.array(ladder.reached)
        gap = np.array(ladder.accuracies) - np.array(ladder.targets)
        assert (np.abs(gap[reached]) < 0.06).all()
    assert ladders["fog"].reached[2]


def test_a_harmless_family_says_that_it_cannot_reach_the_drop() -> None:
    images, labels = frames()
    ladder = severity_for_accuracy_drop(left_minus_right, images, labels, seed=1, families=("desaturation",))["desaturation"]
    assert not any(ladder.reached)
    assert ladder.strengths == pytest.approx((0.2, 0.4, 0.6, 0.8, 1.0))


def test_same_seed_same_ladder_and_json_round_trip() -> None:
    images, labels = frames()
    first = severity_for_accuracy_drop(left_minus_right, images, labels, seed=1, families=("speckle",))
    assert first == severity_for_accuracy_drop(left_minus_right, images, labels, seed=1, families=("speckle",))
    assert FamilyLadder.from_json(first["speckle"].to_json()) == first["speckle"]
    assert strengths_of(first)["speckle"] == first["speckle"].strengths


def test_one_class_or_a_useless_predictor_is_refused() -> None:
    images, labels = frames()
    with pytest.raises(AiccError, match="one class only"):
        severity_for_accuracy_drop(left_minus_right, images, np.ones(N), seed=0)
    with pytest.raises(AiccError, match="clean accuracy"):
        severity_for_accuracy_drop(lambda given: np.full(len(given), 0.7), images, labels, seed=0)


def test_horizons_that_are_guesses_do_not_stop_the_ladder() -> None:
    images, labels = frames()
    guesses = np.random.default_rng(2).integers(0, 2, size=(N, 20)).astype(float)  # nobody can say these

    def predict(given: np.ndarray) -> np.ndarray:
        return np.column_stack([left_minus_right(given), np.full((len(given), 20), 0.7)])

    both = severity_for_accuracy_drop(predict, images, np.column_stack([labels, guesses]), seed=1, families=("fog",))
    assert both == severity_for_accuracy_drop(left_minus_right, images, labels, seed=1, families=("fog",))
