"""The promise: how often the alarm is wrong on held-out nominal drives."""

import math

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.alarm.alarm_policy import MOST_CALMED, MOST_TAIL, AdaptiveThreshold, AlarmPolicy, Threshold, conformal_threshold
from donkey_aicc.alarm.table_alarm import piece_maxima, table_evidence
from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.alarm.alarm_tables import alarm_table


def test_ranks_and_statements():
    found = conformal_threshold(np.arange(1.0, 20.0), 0.1)  # 19 pieces: rank 18
    assert (found.value, found.promise, found.pieces) == (18.0, pytest.approx(0.1), 19)
    few = conformal_threshold(np.arange(1.0, 13.0), 0.01)
    assert (few.value, few.promise) == (12.0, pytest.approx(1 / 13))
    assert few.statement("laps of 15 s", 0.25) == (
        "at most 1 false alarm in 13 laps of 15 s (worth 12 independent ones), or in 1 of 1.3 drives of ten"
    )
    hundred = conformal_threshold(np.arange(1.0, 101.0), 0.005).statement("laps of 15 s", 0.25)
    assert hundred.startswith(
        "at most 1 false alarm in 101 laps of 15 s (worth 100 independent ones), or in 1 of 10.1 drives of ten"
    )
    high = conformal_threshold(np.arange(1.0, 13.0), 0.01, tail=True)  # the same promise, and a guess beyond it
    assert high.promise == few.promise and few.value < high.value <= MOST_TAIL * 12
    assert high.statement("laps of 15 s", 0.25).endswith("aims at 1 in 25 min")
    alike = conformal_threshold(np.arange(1.0, 13.0), 0.01, worth=3.0)
    assert alike.promise == pytest.approx(0.25)  # twelve neighbours that are worth three
    for alpha in (0.0, 1.0):
        with pytest.raises(ConfigError, match="within"):
            conformal_threshold(np.ones(3), alpha)
    with pytest.raises(AiccError, match="at least one nominal piece"):
        conformal_threshold(np.array([]), 0.1)


def test_the_promise_holds_for_any_scores():
    """400 sets of 9 drives whose scores have heavy tails: the next drive passes the threshold in at most 1 of 5 sets."""
    rng = np.random.default_rng(0)
    scores = np.exp(2.0 * rng.normal(size=(400, 10)))
    wrong = np.mean([drives[9] > conformal_threshold(drives[:9], 0.2).value for drives in scores])
    assert wrong <= 0.2 + 2 * math.sqrt(0.2 * 0.8 / 400) and wrong > 0.1


def test_the_drivers_word_brings_the_rate_back():
    """Nominal driving has changed (every score doubled): without a word every drive is an alarm, with it 1 in 10."""
    rng = np.random.default_rng(1)
    fitted = conformal_threshold(rng.normal(1.0, 0.1, 99), 0.1)
    adaptive, wrong = AdaptiveThreshold(fitted), []
    for _ in range(400):
        false = 2.0 * rng.normal(1.0, 0.1) > adaptive.value
        wrong.append(false)
        adaptive.false_alarm() if false else adaptive.quiet()
    assert np.mean(wrong[-300:]) <= 0.1 + 0.02
    for _ in range(10_000):
        adaptive.quiet()
    assert adaptive.value == pytest.approx(fitted.value)  # never more nervous than promised


def policy(stretch=1000):
    return AlarmPolicy(Threshold(1.0, 0.2, 4, 0.2), Threshold(2.0, 0.1, 9, 0.1), stretch)


def levels(alarm, scores):
    return [alarm.step(score) for score in scores]


def test_one_odd_frame_is_no_alarm_and_three_are():
    assert set(levels(policy(), [0.5, 9.0, 9.0, 0.5, 9.0, math.nan])) == {"none"}
    assert levels(policy(), [9.0, 9.0, 9.0, 1.5])[1:] == ["none", "danger", "danger"]


@pytest.mark.parametrize("rate_hz", [10.0, 20.0, 30.0, 60.0])
def test_it_begins_and_ends_after_the_same_time_at_every_rate(rate_hz):
    second = round(rate_hz)
    alarm = AlarmPolicy(Threshold(1.0, 0.2, 4, 0.2), Threshold(2.0, 0.1, 9, 0.1), 1000, rate_hz)
    seen = levels(alarm, [9.0] * second + [0.0] * second)
    assert seen.index("danger") + 1 == pytest.approx(0.15 * rate_hz, abs=0.5)
    assert seen[second:].index("none") + 1 == pytest.approx(0.5 * rate_hz, abs=0.5)


def test_it_ends_when_the_score_has_stayed_below():
    alarm = policy()
    levels(alarm, [3.0] * 3)
    assert levels(alarm, [1.5, 2.1] * 30)[-1] == "danger"  # never below for half a second
    assert levels(alarm, [1.5] * 10)[8:] == ["danger", "watch"]
    assert levels(alarm, [0.1] * 10)[8:] == ["watch", "none"]


def test_the_false_alarm_button():
    alarm = policy()
    assert alarm.false_alarm() == "none" and alarm.threshold("danger") == 2.0  # nothing to be wrong about
    levels(alarm, [3.0] * 3)
    assert alarm.false_alarm() == "danger" and alarm.level == "none"
    assert alarm.threshold("danger") == pytest.approx(2.0 * math.exp(0.45)) and alarm.threshold("watch") > 1.0
    assert set(levels(alarm, [1.3] * 3)) == {"none"}
    again = policy()
    again.calm_again(alarm.calmed())  # the next drive
    assert again.threshold("danger") == alarm.threshold("danger")
    levels(alarm, [0.0] * 20_000)
    assert alarm.threshold("danger") == pytest.approx(2.0)
    for _ in range(50):
        levels(again, [99.0] * 3)
        again.false_alarm()
    assert again.threshold("danger") == pytest.approx(2.0 * math.exp(MOST_CALMED))  # calmer, not deaf
    again.calm_again({"watch": math.nan, "danger": -5.0})  # a damaged memory
    assert again.threshold("danger") == 2.0 and again.threshold("watch") == 1.0


@pytest.mark.slow
def test_the_promise_of_the_whole_pipeline_by_simulation():
    """300 sets of nominal drives through signs, scales and thresholds: false alarms on fresh drives at or below the promise."""
    wrong = {"watch": 0, "danger": 0}
    sets, drives = 300, 2
    promise = {}
    for number in range(sets):
        rng = np.random.default_rng([5, number])
        nominal, fresh = alarm_table(rng, 6, 160), alarm_table(rng, 9, 160, prefix="fresh")
        statistics = ScoreStatistics.fit(nominal)
        model = fit_alarm(nominal, statistics, NominalDrives(fresh=fresh))
        test = alarm_table(rng, drives, 160, prefix="test")
        found = table_evidence(test, statistics, model.signs, model.scales)
        largest = piece_maxima(test, model.score(found.evidence), found.departs, model.piece)
        for level in wrong:
            wrong[level] += int((largest > getattr(model, level).value).sum())
            promise[level] = getattr(model, level).promise
    for level, count in wrong.items():
        error = math.sqrt(promise[level] * (1 - promise[level]) / sets)
        assert count / (sets * drives) <= promise[level] + 2 * error, level
