"""D_aug copies of a sequence, apart from the test protocols."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.faults.d_aug import D_AUG_FAMILIES, DYNAMICS_KINDS, VISUAL_FAMILIES, SequenceArrays, augment, variants, visual
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
