"""Repeating mistakes are predictable from the place, random ones are not."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from studies.place_predictability import PlacedDrive, median_tau, place_auroc


def drives(noise: float, count: int = 6) -> list[PlacedDrive]:
    result = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        s_m = np.mod(rng.uniform(0, 20) + 0.06 * np.arange(800), 20.0)
        result.append(PlacedDrive(s_m, 0.1 * np.sin(2 * np.pi * s_m / 5) + noise * rng.standard_normal(800)))
    return result


def test_mistakes_tied_to_places_are_predictable():
    nominal = drives(noise=0.01)
    assert place_auroc(nominal, median_tau(nominal)) > 0.95


def test_random_mistakes_are_not():
    random = drives(noise=10.0)
    assert 0.4 < place_auroc(random, median_tau(random)) < 0.6


def test_one_drive_is_not_enough():
    with pytest.raises(AiccError, match="at least 2 drives"):
        place_auroc(drives(0.1, count=1), 0.1)
