"""From answers to labels: how right, how many, what is asked, and what is left after a crash."""

import csv

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.labelling.answers import CLASSES, GIVEN, NEIGHBOURS, SKIP, SPREAD, STRETCH, UNSURE, Answer
from donkey_aicc.labelling.proposal import NO_LABEL
from donkey_aicc.labelling.session import LabelSession, answers_path, doubts, summary
from donkey_aicc.tubs.labels import read_label_csv


def reply(session, truth, count, wrong=lambda position: False):
    """Answer as many questions as the truth says."""
    for _ in range(count):
        ((position, why),) = session.ask()
        said = truth[position] ^ 1 if wrong(position) else truth[position]
        session.answer([Answer(position, CLASSES[said], why)])
    session.refit()


def test_some_dozens_of_answers_label_the_rest(make_session, footage, truth):
    session = make_session()
    reply(session, truth, 60)
    said = session.proposal
    labelled = said.label != NO_LABEL
    assert labelled.mean() > 0.85
    assert (said.label[labelled] == truth[labelled]).mean() > 0.97
    assert said.accuracy.low < said.accuracy.share <= said.accuracy.high
    assert said.accuracy.spread and said.accuracy.answers > 30
    assert "right" in summary(session) and not doubts(session)


def test_label_file_has_source_and_certainty_and_is_read_by_training(make_session, footage, truth):
    session = make_session()
    reply(session, truth, 45)
    rows = list(csv.DictReader(session.out.open()))
    assert len(rows) == len(footage)
    assert {row["source"] for row in rows} <= {"answer", "model", ""}
    assert all((row["safe"] == "") == (row["source"] == "") for row in rows)
    labels = read_label_csv(session.out, "tub", one_tub=True)
    _, safe, certainty = labels.lookup(footage.indices)
    np.testing.assert_array_equal(np.isfinite(safe), session.proposal.label != NO_LABEL)
    answered = sorted(session.log.latest)
    assert (certainty[answered] == 1).all() and (safe[answered] == truth[answered]).all()


def test_questions_are_spread_first_and_then_go_where_it_is_unsure(make_session, footage, truth):
    session = make_session()
    reply(session, truth, 50)
    asked = list(session.log.latest.values())
    assert [one.why for one in asked[:40]] == [SPREAD] * 40
    assert {one.why for one in asked[40:]} == {UNSURE, NEIGHBOURS, SPREAD}
    first = np.array([one.position for one in asked[:40]])
    assert (np.histogram(first, bins=10, range=(0, len(footage)))[0] >= 2).all()
    seconds = np.sort([footage.seconds[one.position] + 10 * footage.drive_of[one.position] for one in asked])
    assert np.diff(seconds).min() >= 0.999  # never two looks at one moment
    unsure = next(one.position for one in asked if one.why == UNSURE)
    assert 0 <= unsure < len(footage)


def test_features_that_tell_nothing_give_way_to_better_ones(footage, features, truth, tmp_path):
    blind = np.random.default_rng(0).normal(size=features.shape).astype(np.float32)
    shares = []
    for number, looks in enumerate(([blind], [blind, features], [features, blind])):
        session = LabelSession(footage, looks[0], tmp_path / f"{number}.csv", others=looks[1:])
        reply(session, truth, 60)
        shares.append(session.refit() and session.counts()["labelled_share"])
    assert shares[0] < 0.2 and min(shares[1:]) > 0.9


def test_a_class_seen_once_is_not_held_against_the_others(make_session, truth):
    session = make_session()
    reply(session, truth, 40)
    before = session.refit().accuracy
    session.answer([Answer(position, "not_driving", GIVEN) for position in range(200, 260)])  # three seconds in somebody's hands
    after = session.refit().accuracy
    assert after is not None and after.share > 0.95 and after.asked <= before.asked


def test_what_is_unlike_every_answer_stays_without_a_label(footage, features, truth):
    from donkey_aicc.labelling.classifier import QuickClassifier

    rows = np.arange(0, len(truth), 30)
    classifier = QuickClassifier(features[rows], truth[rows], 3)
    far = features[:1] + 20 * np.abs(features).max()
    assert classifier.probabilities(features[rows]).max(axis=1).mean() > 0.9
    assert classifier.probabilities(far).max() < 0.9
    assert (classifier.probabilities(features)[:, 2] == 0).all()  # a class that nobody named


def test_a_killed_session_goes_on_with_every_answer_but_a_torn_one(make_session, truth, tmp_path):
    session = make_session()
    reply(session, truth, 7)
    path = answers_path(tmp_path / "labels.csv")
    with path.open("ab") as file:
        file.write(b"8,tub,12,17000")  # killed while writing
    again = make_session()
    assert again.log.latest == session.log.latest
    assert again.ask() == session.ask()
    reply(again, truth, 1)
    assert len(make_session().log.latest) == 8


def test_undo_takes_back_the_last_turn_also_after_a_restart(make_session, truth):
    session = make_session()
    reply(session, truth, 3)
    kept = session.log.latest
    session.answer([Answer(position, "unsafe", STRETCH) for position in range(100, 140)])
    assert len(session.log.latest) == len(kept) + 40
    again = make_session()
    assert len(again.undo()) == 40
    assert again.log.latest == kept == make_session().log.latest


def test_one_answer_may_be_corrected(make_session):
    session = make_session()
    session.answer([Answer(5, "safe", SPREAD)])
    session.answer([Answer(5, "unsafe", "corrected")])
    assert make_session().log.latest[5].answer == "unsafe"
    session.undo()
    assert session.log.latest[5].answer == "safe"


def test_too_few_answers_label_only_themselves(make_session, truth):
    session = make_session()
    reply(session, truth, 10)
    assert (session.proposal.label != NO_LABEL).sum() == 10
    assert "10 answers" in doubts(session)[0] and "too few" in doubts(session)[0]
    assert len(list(csv.DictReader(session.out.open()))) == len(session.footage)


def test_one_class_only_is_said(make_session, truth):
    session = make_session()
    for position in np.flatnonzero(truth == 1)[::30][:30].tolist():
        session.answer([Answer(position, "safe", SPREAD)])
    session.refit()
    assert (session.proposal.label != NO_LABEL).sum() == 30
    assert "unsafe ones are needed" in doubts(session)[0]


def test_skipped_frames_are_not_asked_again_and_have_no_label(make_session):
    session = make_session()
    asked = set()
    for _ in range(12):
        ((position, why),) = session.ask()
        assert position not in asked
        asked.add(position)
        session.answer([Answer(position, SKIP, why)])
    assert (session.proposal.label == NO_LABEL).all()


def test_contradicting_answers_are_named_and_label_nothing(make_session, truth):
    rng = np.random.default_rng(1)
    coin = rng.random(len(truth)) < 0.5
    session = make_session()
    reply(session, truth, 60, wrong=lambda position: bool(coin[position]))
    assert (session.proposal.source != "model").all()
    assert len(session.log.latest) == 60
    assert any("too few to label the rest" in text for text in doubts(session))


def test_a_single_wrong_answer_is_worth_a_second_look(make_session, truth):
    session = make_session()
    wrong = session.ask()[0][0]
    reply(session, truth, 60, wrong=lambda position: position == wrong)
    assert wrong in session.proposal.suspects
    assert str(int(session.footage.indices[wrong])) in " ".join(doubts(session))


def test_nothing_is_written_into_the_tub(footage, features):
    inside = footage.folders["tub"] / "labels.csv"
    with pytest.raises(AiccError, match="must not lie inside the tub"):
        LabelSession(footage, features, inside)
    with pytest.raises(ConfigError, match="certainty"):
        LabelSession(footage, features, inside.parent.parent / "labels.csv", certainty=1.0)


def test_answers_of_another_tub_are_refused_and_stay(make_session, tmp_path):
    path = answers_path(tmp_path / "labels.csv")
    stored = "turn,tub,index,time_ms,answer,why\n1,tub,5,1600000000000,safe,spread\n"
    path.write_text(stored)
    with pytest.raises(AiccError, match="another tub"):
        make_session()
    assert path.read_text() == stored


def test_a_parked_stretch_is_not_driving_unless_the_person_says_otherwise(truth, tmp_path):
    from dataclasses import replace

    from donkey_aicc.labelling.footage import Footage, general_features
    from tests.labelling.conftest import drives_of

    drive = drives_of(1)[0]
    images = drive.images.copy()
    images[200:300] = images[200]
    parked = Footage([replace(drive, images=images)], {"tub": tmp_path / "tub"})
    session = LabelSession(parked, general_features(parked.drives), tmp_path / "labels.csv")
    session.answer([Answer(0, "safe", SPREAD)])
    session.refit()
    assert session.proposal.count("not_driving") == 100
    assert read_label_csv(session.out, "tub", one_tub=True).not_driving(np.arange(600)).sum() == 100
    assert not any(200 <= position < 300 for position, _ in session.ask(20))
    session.answer([Answer(250, "safe", SPREAD)])
    session.refit()
    assert session.proposal.count("not_driving") == 0
