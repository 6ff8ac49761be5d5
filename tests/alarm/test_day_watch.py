"""The watch of the day: a bet against today being like the days of the calibration."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.alarm.alarm_model import AlarmModel, AlarmStream
from donkey_aicc.alarm.day_watch import PROMISE, DayWatch, UsualDays
from donkey_aicc.alarm.signs import table_signs
from donkey_aicc.errors import AiccError
from donkey_aicc.parts.monitor_status import MonitorStatus
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.alarm.alarm_tables import alarm_table

USUAL = UsualDays(300, tuple(np.linspace(0.2, 0.4, 40).tolist()))


def coins(levels, usual=USUAL):
    watch = DayWatch(usual)
    for level in levels:
        watch.bet(level)
    return watch


def test_a_day_that_is_stranger_lap_after_lap_is_noticed_and_one_strange_lap_is_not():
    assert not coins([0.9]).unlike
    found = coins([0.5, 0.52, 0.51, 0.6, 0.55, 0.58, 0.57])
    assert found.unlike and found.coins >= PROMISE and "not like the days" in found.statement()
    for _ in range(200):  # what was said stays said, whatever follows
        found.bet(0.3)
    assert found.unlike and found.coins < 1.0


def test_a_day_like_the_others_costs_the_player_everything():
    assert coins(np.random.default_rng(0).uniform(0.2, 0.4, 400)).coins < 0.5
    assert coins([0.3] * 400).statement() == ""  # nor does a day without any change


def test_the_last_stretch_counts_only_when_it_is_whole():
    watch = DayWatch(USUAL)
    for _ in range(USUAL.frames - 1):
        watch.step(5.0)
    assert watch.coins == pytest.approx(1.0)
    watch.step(5.0)
    assert watch.coins > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("count", [12, 40, 100])
def test_the_promise_holds_however_long_the_drive(count):
    """3000 drives of 300 laps, each beside its own calibration with heavy tails: at most 1 in 100 ever cries."""
    rng, drives = np.random.default_rng(count), 3000
    cried = 0
    for _ in range(drives):
        levels = np.exp(rng.standard_t(3, count + 300))
        cried += coins(levels[count:], UsualDays(300, tuple(levels[:count].tolist()))).unlike
    assert cried / drives <= 1.0 / PROMISE + 3.0 * np.sqrt(0.01 * 0.99 / drives)


@pytest.mark.slow
def test_a_day_that_has_moved_is_noticed_within_minutes():
    """By two of the spread between laps: in nine drives of ten within 20 laps."""
    rng, seen = np.random.default_rng(0), []
    for _ in range(300):
        levels = rng.normal(1.0, 0.1, 100)
        seen.append(coins(rng.normal(1.2, 0.1, 20), UsualDays(300, tuple(levels.tolist()))).unlike)
    assert np.mean(seen) >= 0.9


@pytest.fixture(scope="module")
def fitted():
    nominal = alarm_table(np.random.default_rng(0), 12)
    statistics = ScoreStatistics.fit(nominal)
    fresh = alarm_table(np.random.default_rng(2), 30, prefix="fresh", drive_spread=0.1)
    return statistics, fit_alarm(nominal, statistics, NominalDrives(fresh=fresh))


def say(fitted, table):
    """The stream's watch after the table, frame by frame as on the car."""
    statistics, model = fitted
    stream, signs = AlarmStream(model, tuple(int(k) for k in table.horizons)), table_signs(table, statistics, model.signs)
    for name in table.sequences():
        stream.reset()
        for row in np.flatnonzero(table.sequence == name):
            stream.step(signs[row], table.p_tta[row])
    return stream.day


def test_a_calibration_knows_its_days_and_a_dim_one_is_told_from_them(fitted):
    _, model = fitted
    assert model.usual is not None and len(model.usual.levels) >= 12
    assert "at most 1 of 100 drives" in "\n".join(model.statements())
    assert AlarmModel.from_json(model.to_json()).usual == model.usual
    assert not say(fitted, alarm_table(np.random.default_rng(5), 8, drive_spread=0.1)).unlike
    assert say(fitted, alarm_table(np.random.default_rng(6), 16, dark=(0, 300), drive_spread=0.1)).unlike


def test_few_drives_make_no_watch(fitted):
    nominal = alarm_table(np.random.default_rng(0), 4)
    model = fit_alarm(nominal, ScoreStatistics.fit(nominal))
    assert model.usual is None and AlarmStream(model, (1, 5, 20)).day is None


@pytest.mark.parametrize("changed", [{"frames": 0}, {"levels": [0.1] * 3}, {"levels": [float("nan")] * 20}, {"levels": "many"}])
def test_other_days_in_a_file_are_refused(changed):
    with pytest.raises(AiccError, match="usual days"):
        UsualDays.from_json(USUAL.to_json() | changed)


class Scorer:
    grade, slow = "full", ""


def test_the_status_says_it_beside_what_it_says_anyway():
    status = MonitorStatus(Scorer(), lambda: "today is not like the days of the calibration")
    assert status.run("ok")[0] == "today is not like the days of the calibration"
    assert status.run("warming up")[0] == "warming up, today is not like the days of the calibration"
    assert MonitorStatus(Scorer()).run("ok")[0] == "ok"


def test_a_drive_starts_with_one_coin_again(fitted):
    _, model = fitted
    stream = AlarmStream(replace(model, usual=USUAL), (1, 5, 20))
    assert stream.day is not None and stream.day.coins == pytest.approx(1.0)
