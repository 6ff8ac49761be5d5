"""A picture brought back to what is nominal, and the world model's say in it."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.restored_view import CHECK_EVERY, Check, Restoration, RestorationChecks, share_at

NOMINAL = Restoration((0.5, 0.45, 0.4), (0.15, 0.14, 0.16), -6.0, 0.25)


class Rebuilds:
    """Stands for the world model: rebuilds a picture as if its mean grey were always `usual`."""

    def __init__(self, usual=0.46):
        self.usual = usual

    def encode(self, images):
        return images

    def decode(self, latents):
        return latents - latents.mean(axis=(1, 2, 3), keepdims=True) + self.usual


def scene(frames=1, seed=0):
    """Smooth pictures with about nominal colours."""
    rng = np.random.default_rng(seed)
    coarse = rng.normal(0, 1, (frames, 3, 4, 4)).repeat(16, axis=2).repeat(16, axis=3)
    coarse /= coarse.std(axis=(2, 3), keepdims=True)
    mean, spread = (np.array(x).reshape(1, 3, 1, 1) for x in (NOMINAL.mean, NOMINAL.spread))
    pixels = coarse - coarse.mean(axis=(2, 3), keepdims=True)
    return (np.rint(np.clip(pixels * spread + mean, 0, 1) * 255) / 255).astype(np.float32)


def test_a_dark_picture_comes_back_and_a_nominal_one_stays():
    images = scene(4)
    dark = (np.rint(images * 0.1 * 255) / 255).astype(np.float32)
    assert np.abs(NOMINAL.view(dark) - NOMINAL.view(images)).mean() < 0.02
    assert np.abs(NOMINAL.view(images) - images).mean() < 0.03


def test_single_wild_pixels_do_not_stretch_the_rest():
    images = scene()
    wild = images.copy()
    wild[0, :, ::9, ::9] = 1.0
    assert np.abs(NOMINAL.view(wild) - NOMINAL.view(images)).mean() < 0.03


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_a_picture_of_one_colour_stays_one_colour(value):
    restored = NOMINAL.view(np.full((1, 3, 64, 64), value, dtype=np.float32))
    assert np.isfinite(restored).all() and np.ptp(restored[0], axis=(1, 2)).max() == 0.0


def test_only_frames_of_a_history_are_restored_not_its_commands():
    frames = np.concatenate([scene(seed=number) for number in range(3)], axis=1) * np.float32(0.2)
    x = np.concatenate([frames, np.full((1, 3, 64, 64), -0.7, dtype=np.float32)], axis=1)
    restored = NOMINAL.inputs(x)
    assert np.array_equal(restored[:, 9:], x[:, 9:])
    assert np.allclose(restored[:, 3:6], NOMINAL.view(frames[:, 3:6]))


def test_the_world_model_takes_the_restored_picture_where_its_error_is_more_usual_and_a_check_counts_later():
    engine, images = Rebuilds(), scene(40)
    usual = Restoration(NOMINAL.mean, NOMINAL.spread, float(np.log(1e-4)), 0.5)
    checks = RestorationChecks(engine, usual, 1)
    shares = []
    for number, image in enumerate(images):
        seen = image[None] * np.float32(0.2 if number >= 15 else 1.0)
        error = ((engine.decode(seen) - seen) ** 2).mean(axis=(1, 2, 3)) + 1e-12
        checks.update(seen, error)
        shares.append(float(share_at(checks.newest, number)[0]))
    assert max(shares[: 15 + CHECK_EVERY]) < 0.2 and min(shares[35:]) == 1.0
    changes = [number for number in range(1, 40) if shares[number] != shares[number - 1]]
    assert changes and all(number % CHECK_EVERY == 0 for number in changes)


def test_what_counts_at_a_frame_is_the_newest_check_that_does_by_then():
    checks = (Check(10, np.array([0.3])), Check(15, np.array([0.8])))
    assert share_at(checks, 9) is None and share_at((), 3) is None
    assert [float(share_at(checks, number)[0]) for number in (10, 14, 15, 99)] == [0.3, 0.3, 0.8, 0.8]


def test_it_is_stored_and_numbers_that_would_wipe_out_a_picture_are_refused():
    assert Restoration.from_json(NOMINAL.to_json()) == NOMINAL
    for spoiled in (
        {"spread": [0.0, 0.1, 0.1]},
        {"mean": [2.0, 0.5, 0.5]},
        {"log_error_spread": 0.0},
        {"log_error": float("nan")},
    ):
        with pytest.raises(AiccError):
            Restoration.from_json(NOMINAL.to_json() | spoiled)
    with pytest.raises(AiccError):
        Restoration.from_json({"mean": [0.5] * 3})
