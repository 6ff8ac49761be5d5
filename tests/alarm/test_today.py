"""Daylight is followed and a fault is not; a lap that the driver calls normal sets today's nominal, within bounds."""

from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.alarm.alarm_model import AlarmStream
from donkey_aicc.alarm.pieces import Piece, independent_pieces, piece_numbers
from donkey_aicc.alarm.signs import SIGN_NAMES, SIGNS, table_signs
from donkey_aicc.alarm.table_alarm import check_on, table_evidence
from donkey_aicc.alarm.today import DAY
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import ScoreTable
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.alarm.alarm_tables import LIGHT, alarm_table

LIGHT_SIGN = SIGN_NAMES.index("light")
SHORT = NominalDrives(piece=Piece(100, 5.0))


@pytest.fixture(scope="module")
def nominal():
    return alarm_table(np.random.default_rng(0), 12, drive_spread=0.05)


@pytest.fixture(scope="module")
def statistics(nominal):
    return ScoreStatistics.fit(nominal)


@pytest.fixture(scope="module")
def model(nominal, statistics):
    return fit_alarm(nominal, statistics, SHORT)


def darker(table: ScoreTable, by: np.ndarray) -> ScoreTable:
    stats = table.frame_stats.copy()
    stats[:, LIGHT] -= by
    return replace(table, frame_stats=stats)


def play(stream, table, statistics):
    signs = table_signs(table, statistics, stream.model.signs)
    return [stream.step(row, p).level for row, p in zip(signs, table.p_tta, strict=True)]


def test_an_evening_that_falls_is_followed_and_a_lamp_that_fails_is_not(model, statistics):
    """The light falls by a third in six minutes: no danger. The same third at once: danger, and it is never learnt."""
    drive = alarm_table(np.random.default_rng(3), 1, 7200, drive_spread=0.0)
    dusk = np.linspace(0.0, 0.4, 7200)
    stream = AlarmStream(model, tuple(drive.horizons.tolist()))
    assert "danger" not in play(stream, darker(drive, dusk), statistics)
    assert stream.today.shift[0, LIGHT_SIGN] < -0.15
    stream = AlarmStream(model, tuple(drive.horizons.tolist()))
    lamp = np.where(np.arange(7200) >= 600, 0.8, 0.0)
    levels = play(stream, darker(drive, lamp), statistics)
    assert set(levels[620:]) == {"danger"} and abs(stream.today.shift[0, LIGHT_SIGN]) < 0.1


def test_another_day_is_set_by_one_lap_and_a_fault_of_that_day_still_shows(model, statistics):
    day = darker(alarm_table(np.random.default_rng(4), 1, 400, drive_spread=0.0), np.full(400, 0.45))
    stream = AlarmStream(model, tuple(day.horizons.tolist()))
    with pytest.raises(AiccError, match="needs a whole lap: 0 of 100 frames"):
        stream.recentre()
    assert play(stream, day, statistics)[-1] == "danger"
    said = stream.recentre()
    assert said.moved["light"] == pytest.approx(-0.45, abs=0.05) and not said.beyond and "light -0.4" in said.statement()
    assert set(play(stream, day, statistics)) == {"none"}
    assert "danger" in play(stream, darker(day, np.full(400, 0.8)), statistics)


def test_no_lap_moves_anything_further_than_a_day_may(model, statistics):
    cave = darker(alarm_table(np.random.default_rng(4), 1, 200, drive_spread=0.0), np.full(200, 3.0))
    stream = AlarmStream(model, tuple(cave.horizons.tolist()))
    play(stream, cave, statistics)
    said = stream.recentre()
    assert "light" in said.beyond and "calibrate --add" in said.statement()
    assert (np.abs(stream.today.shift) <= DAY + 1e-9).all() and play(stream, cave, statistics)[-1] == "danger"
    stream.today.tell(np.full(len(SIGNS), np.inf))  # a damaged memory
    assert np.isfinite(stream.today.shift).all()


def test_the_day_is_followed_alike_on_the_car_and_in_a_table(model, statistics):
    drive = darker(alarm_table(np.random.default_rng(5), 1, 500, drive_spread=0.0), np.linspace(0, 0.2, 500))
    offline = model.score(table_evidence(drive, statistics, model.signs, model.scales).evidence)
    stream, signs = AlarmStream(model, tuple(drive.horizons.tolist())), table_signs(drive, statistics, model.signs)
    spread = statistics.scores(drive)["tta_spread"]
    online = [stream.step(row, p, s).score for row, p, s in zip(signs, drive.p_tta, spread, strict=True)]
    assert online == pytest.approx(offline.tolist(), abs=1e-9)


def test_a_drive_cut_by_hand_promises_no_more_than_the_whole():
    rng = np.random.default_rng(0)
    whole = alarm_table(rng, 1, 3600)
    cut = replace(whole, sequence=np.array([f"part {row // 12}" for row in range(3600)]))
    twelve = replace(whole, sequence=np.array([f"part {row // 300}" for row in range(3600)]))
    counts = [len(np.unique(piece_numbers(table, 300))) for table in (whole, cut, twelve)]
    assert counts == [12, 12, 12]
    scraps = replace(whole, sequence=np.where(np.arange(3600) < 3588, "drive", "scrap"))
    assert len(np.unique(piece_numbers(scraps, 300))) == 12  # twelve frames at the end are no drive
    assert independent_pieces(np.exp(np.repeat([0.0, 1.0, 0.2, 0.9], 5))) < 8  # twenty pieces in four moods
    assert independent_pieces(np.exp(rng.normal(size=40))) > 20


def test_a_promise_that_drives_kept_aside_break_is_not_made(nominal, statistics):
    good = alarm_table(np.random.default_rng(8), 6, drive_spread=0.05, prefix="aside")
    bad = darker(good, np.full(len(good), 1.5))
    kept = fit_alarm(nominal, statistics, replace(SHORT, aside=good))
    broken = fit_alarm(nominal, statistics, replace(SHORT, aside=bad))
    assert "found on what was kept aside" in "\n".join(kept.statements()) and kept.checked.danger <= 3
    said = "\n".join(broken.statements())
    assert "danger is not promised, because driving kept aside broke the promise" in said and "twelve fresh laps" in said
    assert broken.danger.promise > 0.9 and check_on(broken, good, statistics).danger <= 3
