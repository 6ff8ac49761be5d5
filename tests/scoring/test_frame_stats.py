"""Numbers of single frames: each of them answers to what it is named after."""

import numpy as np
import pytest

from donkey_aicc.scoring.frame_stats import FRAME_STATS, FrameStats, Ring, sideways_shift

ERROR = np.array([1e-3])


@pytest.fixture
def scene():
    """(1, 3, 64, 64): soft coloured blobs."""
    x = np.linspace(0, 4 * np.pi, 64)
    picture = 0.5 + 0.2 * np.sin(x)[None, :] * np.cos(x)[:, None]
    return np.stack([picture, 0.8 * picture, 0.6 * picture])[None].astype(np.float32)


def stats_of(*pictures):
    stats = FrameStats()
    for picture in pictures:
        row = stats.update(picture, ERROR)
    return dict(zip(FRAME_STATS, row[0], strict=True))


def test_a_darker_picture_has_less_light_and_nothing_else(scene):
    bright, dark = stats_of(scene), stats_of(0.3 * scene)
    assert dark["light"] < bright["light"] - 1.0
    for name in ("contrast", "sharpness", "colour"):
        assert dark[name] == pytest.approx(bright[name], abs=0.05)


def test_noise_sharpens_and_grey_has_no_colour(scene):
    rng = np.random.default_rng(0)
    noisy = np.clip(scene + rng.normal(0, 0.1, scene.shape), 0, 1)
    assert stats_of(noisy)["sharpness"] > stats_of(scene)["sharpness"] + 0.5
    grey = np.repeat(scene.mean(axis=1, keepdims=True), 3, axis=1)
    assert stats_of(grey)["colour"] < stats_of(scene)["colour"] - 1.0


def test_the_same_picture_again_is_repeated_and_does_not_move(scene):
    again, moved = stats_of(scene, scene), stats_of(scene, np.roll(scene, 1, axis=3))
    assert again["repeated"] == 1.0 and moved["repeated"] == 0.0
    assert np.isnan([again["motion"], again["turn_px"], stats_of(scene)["motion"]]).all(), "nothing was measured"
    assert np.isfinite(moved["motion"])


def test_behind_a_repeated_picture_nothing_is_measured_either(scene):
    """The next new one has moved by two frames: taken for one, a single repeat of the camera was a danger."""
    moved = np.roll(scene, 1, axis=3)
    behind = stats_of(scene, scene, moved)
    assert behind["repeated"] == 0.0 and np.isnan([behind["motion"], behind["turn_px"]]).all()
    assert np.isfinite(stats_of(scene, scene, moved, scene)["turn_px"])


def test_the_turn_is_that_of_the_far_part(scene):
    """The floor runs sideways on every bend; the walls only when the car turns."""
    floor, walls = scene.copy(), scene.copy()
    floor[:, :, 30:] = np.roll(scene, 3, axis=3)[:, :, 30:]
    walls[:, :, :24] = np.roll(scene, 2, axis=3)[:, :, :24]
    assert stats_of(scene, floor)["turn_px"] == pytest.approx(0.0, abs=0.05)
    assert stats_of(scene, walls)["turn_px"] == pytest.approx(2.0, abs=0.4)


@pytest.mark.parametrize("pixels", [-2, -1, 0, 1, 2])
def test_sideways_movement_is_measured_in_pixels(scene, pixels):
    grey = scene.mean(axis=1)
    assert sideways_shift(grey, np.roll(grey, pixels, axis=2))[0] == pytest.approx(pixels, abs=0.25)


def test_the_window_holds_the_last_values_in_order():
    ring = Ring(2, 4)
    for value in range(11):
        ring.append(np.array([value, -value]))
        expected = list(range(max(0, value - 3), value + 1))
        assert ring.window().tolist() == [expected, [-x for x in expected]]


def test_values_may_be_vectors():
    ring = Ring(1, 2, (3,))
    for value in range(3):
        ring.append(np.full((1, 3), value))
    assert ring.window().tolist() == [[[1, 1, 1], [2, 2, 2]]]


def test_other_lanes_are_dropped():
    ring = Ring(3, 2)
    ring.append(np.array([1, 2, 3]))
    ring.keep(np.array([2]))
    ring.append(np.array([4]))
    assert ring.window().tolist() == [[3, 4]]
