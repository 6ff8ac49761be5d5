"""A bundle's alarm over a recorded drive: what it would have said on the car."""

import numpy as np
import pytest

from donkey_aicc.calibration.alarm_fit import fit_alarm
from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.statistics import ScoreStatistics
from donkey_aicc.replay.score_run import alarm_again
from tests.calibration.alarm_tables import alarm_table

DARK = (150, 220)


@pytest.fixture(scope="module")
def calibrator():
    nominal = alarm_table(np.random.default_rng(0))
    found = AnomalyTemperature()
    found.statistics = ScoreStatistics.fit(nominal)
    driven = alarm_table(np.random.default_rng(1), dark=(100, 300), departs_after=60, prefix="driven")
    fresh = alarm_table(np.random.default_rng(2), 12, prefix="fresh")
    found.alarm = fit_alarm(nominal, found.statistics, driven=driven, fresh=fresh)
    return found


def test_danger_when_it_goes_dark_in_every_drive(calibrator):
    table = alarm_table(np.random.default_rng(7), 2, dark=DARK, drive_spread=0.1)
    numbers, words = alarm_again(table, calibrator)
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        first = int(np.flatnonzero(words["alarm"][own] == "danger")[0])
        assert DARK[0] <= first < DARK[0] + 12 and "darker" in words["reason"][own][170]
    assert numbers["hazard"].shape == (len(table), len(table.horizons)) and np.isfinite(numbers["hazard"]).all()


def test_a_bundle_without_an_alarm_says_nothing():
    assert alarm_again(alarm_table(np.random.default_rng(7), 1), AnomalyTemperature()) == ({}, {})
