"""Notes on a whole tub's pictures: a camera upside down, and pictures of black and white alone."""

import numpy as np
import pytest

from donkey_aicc.tubs.drive import make_drive
from donkey_aicc.tubs.odd_pictures import odd_pictures


def driving(frames: int = 80, *, contrast: float = 1.0):
    """A floor of soft spots that comes towards the camera below a still wall."""
    rng = np.random.default_rng(0)
    ground = np.repeat(np.repeat(rng.uniform(60, 200, (40 + frames, 16)), 4, axis=0), 4, axis=1)
    wall = np.repeat(np.repeat(rng.uniform(60, 200, (8, 16)), 4, axis=0), 4, axis=1)
    start = [4 * (40 + frames) - 32 - 2 * row for row in range(frames)]
    images = np.stack([np.vstack([wall, ground[at : at + 32]]) for at in start])
    images = np.where(contrast > 1.0, np.where(images > 130, 255, 0), images)
    actions = np.tile([0.0, 0.4], (frames, 1))
    return make_drive("tub", "0", np.repeat(images[..., None], 3, axis=3).astype(np.uint8), actions)


def codes(images):
    return [finding.code for finding in odd_pictures(images)]


def test_a_camera_upside_down_is_noticed_and_one_the_right_way_up_is_not():
    drive = driving()
    turned = make_drive("tub", "0", np.ascontiguousarray(drive.images[:, ::-1, ::-1]), drive.actions)
    assert codes([drive]) == [] and codes([turned]) == ["upside-down"]


@pytest.mark.parametrize("throttle", [0.0, -0.4])
def test_a_car_that_stands_or_reverses_says_nothing(throttle):
    drive = driving()
    backwards = make_drive("tub", "0", drive.images[::-1].copy(), drive.actions * 0 + throttle)
    assert codes([backwards]) == []


def test_pictures_of_black_and_white_are_named():
    assert codes([driving(contrast=2.0)]) == ["near-binary"]
