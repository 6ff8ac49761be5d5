"""Predictors that see no picture: they know what they should, and no more."""

import numpy as np
import pytest

from donkey_aicc.simulator.tracks import make_track
from studies.without_pictures import PlacePredictor

HORIZONS = (1, 5)


@pytest.fixture
def place() -> np.ndarray:
    return np.linspace(0.0, make_track("oval").length_m - 0.01, 400)


def test_a_place_says_what_came_after_it_in_other_drives(place):
    safe = (place < 5.0).astype(np.float32)
    predictor = PlacePredictor(make_track("oval"), HORIZONS)
    for _ in range(5):
        predictor.learn(place, safe)
    p = predictor.predict(place)
    assert p.shape == (400, 2) and p[20].min() > 0.8 and p[300].max() < 0.2
    border = int(np.flatnonzero(safe == 0)[0])
    assert p[border - 3, 1] < 0.5 < p[border - 8, 1]  # five steps ahead it is over


def test_an_unseen_place_says_one_half(place):
    predictor = PlacePredictor(make_track("oval"), HORIZONS)
    predictor.learn(place[:100], np.ones(100, dtype=np.float32))
    assert predictor.predict(place[300:]).tolist() == [[0.5, 0.5]] * 100
