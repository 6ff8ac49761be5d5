"""D_aug copies of a sequence, apart from the test protocols.

Severities follow the accuracy of a predictor whose weakness is known.
"""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.d_aug import (
    D_AUG_FAMILIES,
    DYNAMICS_KINDS,
    VISUAL_FAMILIES,
    FamilyLadder,
    SequenceArrays,
    augment,
    balanced_accuracy,
    severity_for_accuracy_drop,
    strengths_of,
    variants,
    visual,
)
from donkey_aicc.faults.protocols import PROTOCOLS


def sequence(length: int = 40) -> SequenceArrays:
    rng = np.random.default_rng(0)
    return SequenceArrays(
        images=rng.integers(0, 256, size=(length, 16, 16, 3), dtype=np.uint8),
        actions=np.column_stack([np.sin(np.arange(length) / 5), np.linspace(0, 1, length)]),
        safe=(np.arange(length) % 10 < 7).astype(float),
    )


def test_families_are_apart_from_the_test_protocols() -> None:
    assert len(VISUAL_FAMILIES) == 8 and len(DYNAMICS_KINDS) == 3
    assert not set(D_AUG_FAMILIES) & (set(PROTOCOLS) | {"dark", "blur", "bias", "latency"})
    forbidden = ("bright", "dark", "contrast", "blur", "noise_action", "freeze", "delay", "latency", "bias")
    assert not [name for name in D_AUG_FAMILIES if any(word in name for word in forbidden)]


def test_variants_are_forty_visual_and_three_dynamics() -> None:
    assert len(variants()) == len(set(variants())) == 43
    assert sum(family in VISUAL_FAMILIES for family, _ in variants()) == 40


@pytest.mark.parametrize(("family", "severity"), variants())
def test_every_variant_can_be_built_and_repeats(family: str, severity: int) -> None:
    original, donor = sequence(), np.full((7, 2), 0.5)
    first = augment(original, family, severity, np.random.default_rng(3), donor)
    again = augment(original, family, severity, np.random.default_rng(3), donor)
    assert np.array_equal(first.images, again.images) and np.array_equal(first.actions, again.actions)
    if family in VISUAL_FAMILIES:
        assert not np.array_equal(first.images, original.images)
        assert np.array_equal(first.actions, original.actions) and np.array_equal(first.safe, original.safe)


def test_speed_mismatch_takes_every_second_frame_with_its_label() -> None:
    fast = augment(sequence(41), "speed_mismatch", 1, np.random.default_rng(0))
    assert len(fast.images) == 21
    assert np.array_equal(fast.safe, sequence(41).safe[::2]) and np.array_equal(fast.actions, sequence(41).actions[::2])


def test_action_substitution_repeats_a_short_donor_and_needs_one() -> None:
    donor = np.arange(14.0).reshape(7, 2)
    swapped = augment(sequence(), "action_substitution", 1, np.random.default_rng(0), donor)
    assert np.array_equal(swapped.actions[:7], donor) and np.array_equal(swapped.actions[7:14], donor)
    assert np.array_equal(swapped.images, sequence().images)
    with pytest.raises(AiccError, match="another sequence"):
        augment(sequence(), "action_substitution", 1, np.random.default_rng(0))


def test_action_offset_is_half_the_sequence() -> None:
    turned = augment(sequence(), "action_offset", 1, np.random.default_rng(0))
    assert np.array_equal(turned.actions[20:], sequence().actions[:20])


def test_own_strengths_replace_the_table() -> None:
    images = sequence().images
    mild = visual(images, "salt_and_pepper", 5, np.random.default_rng(0), {"salt_and_pepper": (0.01, 0.02, 0.03, 0.04, 0.05)})
    assert (mild != images).any(axis=-1).mean() < 0.1


def test_wrong_input_is_explained() -> None:
    with pytest.raises(AiccError, match="severity of fog"):
        visual(sequence().images, "fog", 6, np.random.default_rng(0))
    with pytest.raises(AiccError, match="D_aug family"):
        augment(sequence(), "dark", 1, np.random.default_rng(0))
    with pytest.raises(AiccError, match="as many images"):
        SequenceArrays(np.zeros((3, 4, 4, 3), np.uint8), np.zeros((2, 2)), np.zeros(3))


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
