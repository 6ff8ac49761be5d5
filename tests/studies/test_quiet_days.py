"""The alarm on nominal drives of another day, by the code of the car; faults on real frames; what is announced elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.alarm.pieces import Piece
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.tubs.load import load_drives
from studies.real_car import quiet_days
from studies.real_car.recorded_faults import CameraFiles
from tests.alarm.alarm_tables import LIGHT, alarm_table
from tests.tubs.conftest import cache, make_tub  # noqa: F401


@pytest.fixture(scope="module")
def car():
    nominal = alarm_table(np.random.default_rng(0), 12, drive_spread=0.05)
    statistics = ScoreStatistics.fit(nominal)
    return fit_alarm(nominal, statistics, NominalDrives(piece=Piece(100, 5.0))), statistics


def another_day(darker: float, rows: int = 900):
    table = alarm_table(np.random.default_rng(4), 1, rows, drive_spread=0.0)
    stats = table.frame_stats.copy()
    stats[:, LIGHT] -= darker
    return replace(table, frame_stats=stats)


def test_a_darker_day_is_quiet_after_one_confirmed_lap_and_calmer_when_the_driver_reports(car):
    found = quiet_days.quietness(*_swapped(car, another_day(0.4)), 20.0)
    before, after, reported = (found[way] for way in quiet_days.WAYS)
    assert before["danger"]["share"] > 0.5 and before["pieces"] == 9
    assert after["danger"] == {"pieces": 0, "share": 0.0} and after["frames"] == 800
    assert reported["danger"]["share"] <= before["danger"]["share"]
    same = quiet_days.quietness(*_swapped(car, another_day(0.0)), 20.0)
    assert same[quiet_days.AS_IS]["danger"]["share"] < 0.01
    lines = quiet_days.described({"promise": ["p"], "same day": same, "other days": {"dusk": found}, "elsewhere": {}})
    assert "| dusk | after one confirmed lap | 0 of 8 | 0.00 % | 0.00 % |" in lines


def _swapped(car, table):
    return car[0], table, car[1]


def test_less_than_a_lap_cannot_be_confirmed(car):
    found = quiet_days.quietness(*_swapped(car, another_day(0.4, 80)), 20.0)
    assert found[quiet_days.CONFIRMED] == {"pieces": 0}


def test_what_is_odd_is_told_from_nominal_and_announced_in_time(car):
    odd = another_day(3.0, 100)
    seen = quiet_days.seen(*car, another_day(0.0), {"dark 5": odd})
    assert seen["dark 5"]["auroc"] > 0.99 and seen["dark 5"]["danger"] > 0.9
    assert quiet_days.announced(*_swapped(car, odd), 20.0)["danger"]["soon"] == 1.0
    assert quiet_days.announced(*_swapped(car, another_day(0.0, 100)), 20.0)["danger"]["median_s"] is None


def test_faults_on_recorded_pictures(make_tub, tmp_path):  # noqa: F811
    tub = make_tub(160, size=(120, 160))
    drives = load_drives([tub.path], cache_dir=tmp_path / "cache").drives
    made = quiet_days.faulty_pieces(drives, 20.0, CameraFiles((tub.path,)))
    assert set(made) == {f"{name} {s}" for name in ("dark", "blur") for s in (2, 3, 4, 5)} | {
        "frozen",
        "delayed 200 ms",
        "delayed 400 ms",
    }
    ((frozen,), (late,), (blurred,)) = (made[name] for name in ("frozen", "delayed 200 ms", "blur 3"))
    assert (frozen.images[30:] == frozen.images[20]).all() and len(frozen) == quiet_days.PIECE_FRAMES
    start = int(frozen.indices[0])
    np.testing.assert_array_equal(late.images[50], drives[0].images[start + 46])
    np.testing.assert_array_equal(late.actions, drives[0].actions[start : start + 140])
    assert blurred.images[50].std() < 0.7 * drives[0].images[start + 50].std()
    assert [len(each) for each in quiet_days.stretches([drives[0]])] == []
