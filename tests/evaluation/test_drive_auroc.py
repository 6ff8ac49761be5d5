"""AUROC from counts per pair of drives is the AUROC of the frames, and a draw counts a drive as often as it is drawn."""

import numpy as np
import pytest

from donkey_aicc.evaluation.metrics import auroc
from donkey_aicc.evaluation.resampling import DriveDraws, DriveWins


@pytest.fixture
def frames():
    rng = np.random.default_rng(3)
    positive, negative = rng.integers(0, 9, 40) + 2.0, rng.integers(0, 9, 50) * 1.0  # with ties
    return positive, rng.integers(0, 3, 40), negative, rng.integers(0, 2, 50)


def plain(positive, negative):
    return auroc(np.concatenate([positive, negative]), np.repeat([1.0, 0.0], [len(positive), len(negative)])).value


def test_all_drives_together_give_the_auroc_of_the_frames(frames):
    counted = DriveWins.count(*frames, (3, 2))
    assert counted.auroc() == pytest.approx(plain(frames[0], frames[2]), abs=1e-12)


def test_a_drive_that_is_drawn_twice_counts_twice(frames):
    positive, drive, negative, nominal_drive = frames
    draws = DriveDraws(np.array([[2.0, 0.0, 1.0]]), np.array([[0.0, 2.0]]))
    repeated = np.concatenate([positive[drive == 0], positive[drive == 0], positive[drive == 2]])
    found = draws.auroc(DriveWins.count(*frames, (3, 2)))
    assert found == pytest.approx(plain(repeated, negative[nominal_drive == 1]), abs=1e-12)


def test_without_frames_it_is_unknown():
    nothing = DriveWins.count(np.empty(0), np.empty(0, int), np.array([1.0]), np.array([0]), (2, 1))
    assert np.isnan(nothing.auroc())
    assert np.isnan(DriveDraws.make(2, 1, 3, seed=0).auroc(nothing)).all()
