"""The alarm, from signs to level: frame by frame, in JSON, and what it says."""

import json
from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.alarm.alarm_model import AlarmModel, AlarmStream
from donkey_aicc.alarm.evidence import EVIDENCE_NAMES
from donkey_aicc.alarm.hazard import HazardModel, fit_hazard
from donkey_aicc.alarm.reasons import HAZARD, MAY_LEAVE, PICTURE_TEXT, TEXTS, reason
from donkey_aicc.alarm.sign_scales import SignScales
from donkey_aicc.alarm.signs import FROM_SCORES, SIGN_NAMES, SIGNS, SignStream, slow_signs, table_signs
from donkey_aicc.alarm.table_alarm import table_evidence
from donkey_aicc.calibration.past_faults import PastFaults, scores_without_past
from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.frame_stats import FRAME_STATS
from donkey_aicc.scoring.statistics import ScoreStatistics
from tests.alarm.alarm_tables import alarm_table

MOTION, TURN = FRAME_STATS.index("motion"), FRAME_STATS.index("turn_px")


@pytest.fixture(scope="module")
def nominal():
    return alarm_table(np.random.default_rng(0))


@pytest.fixture(scope="module")
def statistics(nominal):
    return ScoreStatistics.fit(nominal)


@pytest.fixture(scope="module")
def model(nominal, statistics):
    driven = alarm_table(np.random.default_rng(1), dark=(100, 300), departs_after=60, prefix="driven")
    return fit_alarm(nominal, statistics, NominalDrives(fresh=alarm_table(np.random.default_rng(2), 12, prefix="fresh")), driven)


def play(model, table, statistics):
    """Readings of the table's single drive."""
    signs = table_signs(table, statistics, model.signs)
    stream = AlarmStream(model, tuple(table.horizons.tolist()))
    return [stream.step(row, p, 0.0) for row, p in zip(signs, table.p_tta, strict=True)]


def test_it_goes_dark_then_light_again(model, statistics):
    """Danger within half a second, its reason in words, and nominal again within 2 s although rho looks back for longer."""
    readings = play(model, alarm_table(np.random.default_rng(7), 1, dark=(150, 220), drive_spread=0.1), statistics)
    levels = [reading.level for reading in readings]
    assert levels.index("danger") in range(150, 162)
    assert readings[170].reason == "the picture is much darker than in training"
    assert set(levels[220 + 40 :]) == {"none"} and set(levels[:150]) == {"none"}
    hazard = np.array([reading.near_hazard for reading in readings])
    assert hazard[200] > 3 * hazard[140] and hazard[260:].max() < hazard[200] / 2


def test_slow_scores_alone_are_forgotten_when_the_frames_are_nominal(model):
    """rho still far out, the last second nominal: no strangeness left. The score itself stays as it was."""
    signs = np.where(np.isfinite(model.scales.middle), model.scales.middle, 0.0)[None].copy()
    signs[0, SIGN_NAMES.index("log_rho")] = 50.0
    assert model.scales.deviations(signs).max() < 0.01
    signs[0, SIGN_NAMES.index("light")] -= 5.0
    assert model.scales.deviations(signs)[0, SIGN_NAMES.index("log_rho")] > 5.0


def test_a_standing_start_is_no_anomaly(nominal, statistics, model):
    """The picture does not move and does not follow the steering while the car stands: nobody is surprised."""
    table = alarm_table(np.random.default_rng(3), 1, standing=100, drive_spread=0.1)
    table.frame_stats[:110, MOTION] -= 9.0
    assert "danger" not in {reading.level for reading in play(model, table, statistics)}
    rolling = alarm_table(np.random.default_rng(3), 1, drive_spread=0.1)
    rolling.frame_stats[80:110, MOTION] -= 9.0
    assert "danger" in {reading.level for reading in play(model, rolling, statistics)}


def crawling(table, share=0.6, begin=120):
    """The drive from frame `begin` on at a share of its speed: its picture moves and turns so much less."""
    table.actions[begin:, 1] *= share
    table.frame_stats[begin:, MOTION] += np.log(share)
    table.frame_stats[begin:, TURN] *= share
    return table


def test_a_crawl_does_not_keep_up_the_alarm_it_came_from(statistics):
    """A slowed car's picture moves less, which is no sign of anything; a picture that stands still is one all the same."""
    model = fit_alarm(alarm_table(np.random.default_rng(0), drive_spread=0.03), statistics)
    model = AlarmModel.from_json(json.loads(json.dumps(model.to_json())))  # files from before need nothing new

    def levels(change):
        return {one.level for one in play(model, change(alarm_table(np.random.default_rng(3), 1, drive_spread=0.0)), statistics)}

    def slow_without_reason(table):  # the throttle says nothing about it: the wheels slip, or the picture is late
        driven = table.actions.copy()
        return replace(crawling(table), actions=driven)

    def stands_still(table):
        crawling(table).frame_stats[150:, MOTION] -= 3.0
        return table

    def turns_the_wrong_way(table):
        crawling(table).frame_stats[150:, TURN] += 2.0
        return table

    assert levels(lambda table: table) == levels(crawling) == {"none"}
    for change in (slow_without_reason, stands_still, turns_the_wrong_way):
        assert "danger" in levels(change), change.__name__


def test_the_confidence_forgets_a_fault_that_is_over_and_the_scores_do_not(nominal, statistics, model):
    """rho of the made-up drive stays high for 100 frames behind the dark ones; the frames themselves are nominal at once."""
    table = alarm_table(np.random.default_rng(5), 1, length=420, dark=(150, 210), drive_spread=0.1)
    table.rho_raw[150:310] = 5.0 * table.rho_raw.max()
    seen = scores_without_past(table, statistics, model, 100)["rho"]
    rho = statistics.scores(table)["rho"]
    assert (rho[150:310] == 1.0).all() and (seen[165:210] == 1.0).all(), "while it lasts the fault counts"
    assert seen[240:305].max() < 0.9 < rho[240:305].min() and seen[330:].tolist() == rho[330:].tolist()
    past = PastFaults(model, 100)
    signs = table_signs(table, statistics, model.signs)
    assert past.step(signs[180], {"rho": 1.0}) == past.step(signs[250], {"rho": 1.0}) == {"rho": 1.0}, "no before, no forgetting"


def test_car_and_table_compute_the_same(nominal, statistics, model):
    one = nominal.of_sequences(nominal.sequences()[:1])
    slow = slow_signs(statistics, one.rho_raw, one.features, one.latent, {})
    stream = SignStream(1, model.signs)
    live = np.concatenate([stream.update(one.frame_stats[[i]], one.actions[[i]], slow[[i]]) for i in range(len(one))])
    offline = table_signs(nominal, statistics, model.signs)[nominal.sequence == one.sequence[0]]
    assert live == pytest.approx(offline, nan_ok=True)
    scores = model.score(table_evidence(one, statistics, model.signs, model.scales).evidence)
    spread = statistics.scores(one)["tta_spread"]
    alarm = AlarmStream(model, tuple(one.horizons.tolist()))
    assert [alarm.step(*row).score for row in zip(live, one.p_tta, spread, strict=True)] == pytest.approx(scores.tolist())


def test_dropped_frames_are_not_taken_for_motion(model):
    """Frames that a slow computer left out: the jump between the two around them says nothing."""
    stream = SignStream(1, model.signs)
    calm, jump = np.zeros((1, 8)), np.zeros((1, 8))
    jump[0, MOTION] = 5.0
    action, slow = np.array([[0.0, 0.4]]), np.full((1, FROM_SCORES), np.nan)
    for _ in range(60):
        stream.update(calm, action, slow)
    assert stream.update(jump, action, slow, unseen=[action])[0, SIGN_NAMES.index("motion")] == 0.0
    assert stream.update(jump, action, slow)[0, SIGN_NAMES.index("motion")] > 0.2


def test_without_driven_faults_there_is_no_hazard_and_it_says_so(nominal, statistics):
    model = fit_alarm(nominal, statistics)
    assert model.hazard is None
    said = "\n".join(model.statements())
    assert "hazard: absent, because no driven faults were given" in said and "pieces of 15 s (worth 8 independ" in said
    assert "twelve fresh laps cure most of it" in said
    few = fit_alarm(nominal, statistics, driven=alarm_table(np.random.default_rng(1), 2, dark=(100, 300), departs_after=50))
    assert few.hazard is None and "only 2 driven drives left the lane" in few.note


def test_a_bundle_without_labels_has_an_alarm_too(nominal, statistics):
    blank = np.full_like(nominal.p_tta, np.nan)
    table = replace(nominal, p_safe=blank, p_tta=blank, tta_spread=blank, departed=np.full(len(nominal), np.nan))
    fresh = alarm_table(np.random.default_rng(2), 12, prefix="fresh")
    model = fit_alarm(table, ScoreStatistics.fit(table), NominalDrives(fresh=fresh))
    assert model.danger.value > 0.5
    dark = replace(alarm_table(np.random.default_rng(7), 1, dark=(150, 220), less_light=4.5), p_tta=blank[:300])
    assert "danger" in {reading.level for reading in play(model, dark, ScoreStatistics.fit(table))}


def test_json_and_what_it_refuses(model):
    stored = json.loads(json.dumps(model.to_json(), allow_nan=False))
    again = AlarmModel.from_json(stored)
    assert again.danger == model.danger and np.array_equal(again.hazard.weights, model.hazard.weights)
    for change, words in (
        ({"danger": {"value": float("nan"), "promise": 0.1, "pieces": 3, "aim": 0.1}}, "threshold must be a number in"),
        ({"danger": {"value": 1e30, "promise": 0.1, "pieces": 3, "aim": 0.1}}, "threshold must be a number in"),
        ({"hazard_unit": 1e30}, "hazard unit must be a number in 0.5..30"),
        (
            {
                "scales": {
                    "cloud": None,
                    "frames": 300,
                    "pieces": 2,
                    "signs": {"light": {"middle": 0.0, "above": 1e30, "below": 1.0}},
                }
            },
            "must be a number in 1e-09",
        ),
        ({"watch": {"value": 900.0, "promise": 0.3, "pieces": 3, "aim": 0.1}}, "watch must not begin after danger"),
        ({"stop_hazard": 2.0}, "stop_hazard must be a number in 0..0.9"),
        ({"hazard_unit": 0.0}, "hazard unit"),
        ({"response": {**stored["response"], "weights": [1.0]}}, "response must be 11 numbers, got 1"),
        ({"response": {**stored["response"], "speed_lag_s": 0.0}}, "speed lag of the alarm's response must be"),
        ({"piece": {"frames": 0, "seconds": 15.0, "lap": False}}, "frames of an alarm's piece"),
        ({"checked": {"moon": 1}}, "damaged"),
        (
            {
                "scales": {
                    "cloud": None,
                    "frames": 300,
                    "pieces": 2,
                    "signs": {"light": {"middle": 0.0, "above": -1.0, "below": 1.0}},
                }
            },
            "must be a number in 1e-09",
        ),
        ({"scales": {"cloud": None, "frames": 300, "pieces": 2, "signs": {"moon": {}}}}, "damaged"),
        ({"danger": {"value": 1.0, "promise": 0.001, "pieces": 3, "aim": 0.1}}, "promise of an alarm's threshold must be"),
        ({"hazard": 3}, "damaged"),
    ):
        with pytest.raises(AiccError, match=words):
            AlarmModel.from_json({**stored, **change})
    for key, value, words in (
        ("weights", {**stored["hazard"]["weights"], "light": -0.1}, "weight of light must be a number in 0..30"),
        ("offsets", [0.0, -1.0, -2.0], "must not fall with the horizon"),
        ("offsets", [0.0], "offsets of shape"),
    ):
        with pytest.raises(AiccError, match=words):
            HazardModel.from_json({**stored["hazard"], key: value})


def test_the_hazard_is_found_again_and_rises_with_the_horizon():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(4000, len(EVIDENCE_NAMES)))
    true = np.zeros(len(EVIDENCE_NAMES))
    true[[1, 7]] = 1.0, 0.5
    logits = np.array([-4.0, -3.0, -2.5]) + (x @ true)[:, None]
    labels = (rng.random((4000, 1)) < 1 / (1 + np.exp(-logits))).astype(float)
    fitted = fit_hazard(x, labels, (1, 5, 20))
    assert fitted.weights == pytest.approx(true, abs=0.2) and fitted.offsets == pytest.approx([-4.0, -3.0, -2.5], abs=0.35)
    assert (np.diff(fitted.hazard(x), axis=1) >= 0.0).all()


PLAIN_SCALES = SignScales(*np.stack([np.zeros(len(SIGNS)), np.ones(len(SIGNS)), np.ones(len(SIGNS))]))


def why(hazard_score=0.0, hazard=0.0, **found):
    """The reason for these signs, each in units of its usual range."""
    signs = np.zeros(len(SIGNS))
    for name, value in found.items():
        signs[SIGN_NAMES.index(name)] = value
    return reason(np.abs(signs), signs, PLAIN_SCALES, hazard_score, hazard)


def test_every_sign_has_its_words():
    assert set(TEXTS) == {*SIGN_NAMES, HAZARD}
    for sign in SIGNS:
        for side in (7.0, -7.0) if sign.two_sided else (7.0,):
            assert 10 < len(why(**{sign.name: side})) <= 80
    assert why(jerk=7.0) == "the steering jerks more than in usual laps: 7 times as much"
    assert why(jerk=1.2) == "the steering jerks more than in usual laps", "once its usual spread is no number that alarms"
    assert why(repeated=0.6) == "the camera repeats old frames: 0.3 s of the last 0.5 s"
    assert why() == ""
    assert why(light=-2.0, log_rho=9.0) == "the picture is much darker than in training", "not the score that follows from it"


def test_a_reason_names_what_stands_out_and_no_more_than_that():
    assert why(sharpness=-3.0, log_error=-4.0) == "the picture is much blurrier than in training", "not emptier"
    assert why(contrast=-3.0, colour=-2.8, log_error=3.0) == PICTURE_TEXT, "fog takes the colours too, and is not about them"
    assert why(picture=4.0, light=0.3) == PICTURE_TEXT
    assert why(contrast=-2.0, pull=3.0) == "the picture has lost its contrast", "in fog no turning can be measured"


def test_how_the_car_answers_has_its_own_words():
    assert "against the steering" in why(pull=3.0, gain=-1.6)
    assert why(gain=-0.9, pull=0.5) == "the car turns less than it is steered"
    assert why(pull_long=2.0, gain=-0.2) == "the car pulls to the left of what is steered"
    assert why(pull_short=-2.0) == "the car pulls to the right of what is steered"
    assert why(late=3.0, pull=1.5) == "the picture follows the steering late"


def test_about_to_leave_is_said_where_the_hazard_says_so():
    assert why(hazard_score=2.0, hazard=0.8, light=-0.9) == "the car is about to leave its lane"
    assert why(hazard_score=2.0, hazard=0.2, light=-0.9) == "the picture is much darker than in training"
    assert why(hazard_score=2.0, hazard=0.2) == MAY_LEAVE


def test_a_scale_says_what_it_rests_on_and_is_refused_when_that_is_too_little(nominal, statistics, model):
    """A label file that calls half of the driving a departure once left 29 calm frames, and nobody was told."""
    assert "scales: from 3200 calm frames in 16 pieces" in "\n".join(model.statements())
    again = AlarmModel.from_json(json.loads(json.dumps(model.to_json())))
    assert again.scales.statement() == model.scales.statement()
    out = nominal.departed.copy()
    out[::60] = 1.0
    with pytest.raises(AiccError, match="at least 300 calm nominal frames, got"):
        fit_alarm(replace(nominal, departed=out), statistics)
