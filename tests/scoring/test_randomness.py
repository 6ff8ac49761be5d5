import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.scoring.randomness import FrameRandomness


def test_masks_depend_on_seed_and_frame_only():
    one, two = FrameRandomness(7, 5), FrameRandomness(7, 5)
    two.between_masks(3, 50)
    two.tta(4).random(9)
    assert np.array_equal(one.between_masks(9, 4), two.between_masks(9, 4))
    assert np.array_equal(one.recurrent_masks(), two.recurrent_masks())
    assert not np.array_equal(one.between_masks(9, 4), one.between_masks(10, 4))
    assert not np.array_equal(one.between_masks(9, 4), FrameRandomness(8, 5).between_masks(9, 4))


def test_a_longer_rollout_starts_with_the_same_masks():
    randomness = FrameRandomness(0, 20)
    assert np.array_equal(randomness.between_masks(30, 1), randomness.between_masks(30, 50)[:1])


def test_the_first_samples_do_not_depend_on_their_number():
    few, many = FrameRandomness(3, 5), FrameRandomness(3, 20)
    assert np.array_equal(few.recurrent_masks(), many.recurrent_masks()[:, :5])
    assert np.array_equal(few.between_masks(8, 4), many.between_masks(8, 4)[:, :5])
    assert np.array_equal(few.between_masks(8, 4)[2:], few.between_masks(8, 2, first=2))


def test_masks_keep_the_mean_and_the_stated_share():
    randomness = FrameRandomness(0, 200)
    for masks, drop in ((randomness.recurrent_masks(), 0.15), (randomness.between_masks(0, 5), 0.3)):
        assert abs((masks == 0).mean() - drop) < 0.01
        assert abs(masks.mean() - 1) < 0.02


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="seed must be >= 0, got -1"):
        FrameRandomness(-1, 3)
