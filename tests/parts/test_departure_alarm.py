"""DepartureAlarm in the loop: what it says when the monitor itself is in trouble, and that it never raises."""

import json
import threading

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import fit_alarm
from donkey_aicc.alarm.pieces import Piece
from donkey_aicc.alarm.signs import SIGN_NAMES, SIGNS
from donkey_aicc.errors import AiccError
from donkey_aicc.parts.alarm_memory import FILE_NAME, AlarmMemory
from donkey_aicc.parts.departure_alarm import DepartureAlarm
from donkey_aicc.parts.fresh_laps import FreshLaps
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.alarm.alarm_tables import alarm_table


@pytest.fixture(scope="module")
def model():
    nominal = alarm_table(np.random.default_rng(0), 6)
    driven = alarm_table(np.random.default_rng(1), dark=(100, 300), departs_after=60, prefix="driven")
    return fit_alarm(nominal, ScoreStatistics.fit(nominal), driven=driven)


@pytest.fixture
def alarm(model):
    return DepartureAlarm(model, (1, 5, 20))


def signs(model, **changes):
    values = dict(zip(SIGN_NAMES, model.scales.middle.tolist(), strict=True))
    return [value if np.isfinite(value) else None for value in (values | changes).values()]


def told(alarm, *inputs, frames=5):
    for _ in range(frames):
        hazard, level, reason = alarm.run(*inputs)
    json.dumps(hazard, allow_nan=False)
    return level, reason


P = [0.9, 0.8, 0.7]


def test_dark_then_a_false_alarm(alarm, model):
    assert told(alarm, signs(model), P, {"tta_spread": 0.1}, "ok") == ("none", "")
    assert told(alarm, signs(model, light=-9.0), P, {}, "ok") == ("danger", "the picture is much darker than in training")
    alarm.false_alarm()
    assert alarm.run(signs(model), P, {}, "ok")[1] == "none"


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        ("blind: no picture for 0.3 s", ("danger", "the monitor is blind (no picture for 0.3 s)")),
        ("doubtful: the scores are 0.8 s late", ("watch", "the scores are 0.8 s late")),
        ("waiting: the first pictures come in", ("none", "")),
        (None, ("danger", "the monitor is blind (its health is not known)")),
    ],
)
def test_a_blind_monitor_is_a_danger_whatever_came_before(alarm, model, health, expected):
    assert alarm.run(None, [], {}, health)[1:] == expected, "from the first tick"
    for _ in range(3):
        told(alarm, signs(model), P, {}, "ok")
        assert alarm.run(signs(model), P, {}, health)[1:] == expected, "and in the very tick"
    assert told(alarm, signs(model), P, {}, "ok") == ("none", "")


def test_doubt_takes_nothing_away_from_a_danger(alarm, model):
    dark = signs(model, light=-9.0)
    told(alarm, dark, P, {}, "ok")
    assert alarm.run(dark, P, {}, "doubtful: late")[1:] == ("danger", "the picture is much darker than in training")


def test_nothing_makes_it_raise_and_what_it_cannot_judge_is_a_danger(alarm):
    for rubbish in ((["x"] * len(SIGN_NAMES), "p", 3, "ok"), (object(), object())):
        assert alarm.run(*rubbish)[1:] == ("danger", "the monitor is blind (the alarm failed)")
    assert alarm.run([1.0], None, None, "ok")[1] == "none"


def test_what_the_driver_said_counts_in_the_next_drive(model, tmp_path, caplog):
    """Beside the bundle, for this calibrator only; today's nominal for today only; a damaged file is forgotten."""
    calibrator = tmp_path / "calibrator.json"
    calibrator.write_text("{}")
    day = ["2026-03-01"]

    def drive():
        memory = AlarmMemory(calibrator, day=lambda: day[0])
        return DepartureAlarm(model, (1, 5, 20), memory=memory)

    first = drive()
    with pytest.raises(AiccError, match="no whole lap yet"):
        first.lap_was_normal()
    first._stream.policy._thresholds["danger"].false_alarm()
    first._stream._lap.extend([np.full(len(SIGNS), 0.0)] * model.piece.frames)
    first._stream._evidence.today.shift[0, SIGN_NAMES.index("light")] = -0.3
    first._keep()
    for thread in threading.enumerate():
        if thread.name == "alarm memory":
            thread.join()
    second = drive()
    assert second._stream.policy.threshold("danger") > model.danger.value
    assert second._stream.today.shift[0, SIGN_NAMES.index("light")] == pytest.approx(-0.3)
    day[0] = "2026-03-02"
    later = drive()
    assert not later._stream.today.shift.any() and later._stream.policy.threshold("danger") > model.danger.value
    (tmp_path / FILE_NAME).write_text('{"calibrator": 3, "calmed": []')
    assert drive()._stream.policy.threshold("danger") == model.danger.value and "forgotten" in caplog.text
    calibrator.write_text('{"another": 1}')
    assert drive()._stream.policy.threshold("danger") == model.danger.value


def test_twelve_fresh_laps_are_counted_while_the_car_drives_and_then_the_recording_ends(capsys):
    laps = FreshLaps(4, Piece(10, 0.5), "calibrate")
    assert laps.run(False, 0.5) is False and laps.run(True, None) is True
    kept = [laps.run(True, 0.3 if tick % 2 else 0.0) for tick in range(100)]
    assert sum(kept) == 80 and not kept[-1]  # every second tick drives
    said = capsys.readouterr().out
    assert "3 of 4" in said and "4 fresh laps are recorded, and the recording has ended. Now: calibrate" in said


def test_no_alarm_because_a_person_took_the_wheel_but_a_dark_picture_stays_one(alarm, model):
    wild = signs(model, jerk=9.0, control=99.0)
    bad = [0.0, 0.0, 0.0]
    assert told(alarm, signs(model), P, {}, "ok", "local") == ("none", "")
    assert told(alarm, wild, bad, {}, "ok", "user", frames=100) == ("none", "")
    assert told(alarm, wild, bad, {}, "ok", "local", frames=10) == ("none", ""), "the windows still hold the person's steering"
    assert told(alarm, wild, P, {}, "ok", "local", frames=30)[0] == "danger"
    assert told(alarm, signs(model, light=-9.0), P, {}, "ok", "user")[0] == "danger"
