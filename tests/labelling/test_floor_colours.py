"""Floor colours: from two picks to labels over the whole drive."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.labelling.floor_colours import NOT_ROAD, ROAD, FloorColours, colour_at, propose_by_colours
from donkey_aicc.labelling.proposal import NO_LABEL


def picked(footage, truth) -> FloorColours:
    safe, unsafe = (footage.image(int(np.flatnonzero(truth == kind)[0])) for kind in (1, 0))
    return FloorColours().with_pick(ROAD, colour_at(safe, 0.5, 0.9)).with_pick(NOT_ROAD, colour_at(unsafe, 0.5, 0.9))


def test_one_pick_of_each_labels_the_drive(footage, truth):
    floor = picked(footage, truth)
    shares = floor.shares(footage)
    assert shares.shape == (len(footage), 2) and (shares.sum(axis=1) <= 1.0001).all()
    said = propose_by_colours(shares, 0.9)
    labelled = said.label != NO_LABEL
    assert labelled.mean() > 0.95 and (said.label[labelled] == truth[labelled]).all()


def test_a_mixed_or_foreign_floor_stays_without_a_label():
    said = propose_by_colours(np.array([[0.5, 0.45], [0.1, 0.05], [0.9, 0.0], [0.0, 0.8]], dtype=np.float32), 0.9)
    assert said.label.tolist() == [NO_LABEL, NO_LABEL, 1, 0]


def test_saved_colours_are_read_again_and_bad_ones_refused(footage, truth, tmp_path):
    floor = picked(footage, truth)
    floor.save(tmp_path / "floor.json")
    assert FloorColours.load(tmp_path / "floor.json") == floor
    for text, message in [
        ('{"road": [[1, 2]]}', "three whole numbers"),
        ('{"road": 3}', "must be a list"),
        ('{"region": [0, 0, 2, 1]}', "region"),
        ('{"region": ["a", 0, 1, 1]}', "four numbers"),
        ("[]", "object"),
    ]:
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(AiccError, match=message):
            FloorColours.load(tmp_path / "bad.json")
    with pytest.raises(AiccError, match="at least one colour"):
        FloorColours().table()


def test_labels_from_colours_keep_the_answers_and_last_over_a_restart(make_session, footage, truth):
    from dataclasses import replace

    from donkey_aicc.labelling.answers import Answer

    session = make_session()
    with pytest.raises(AiccError, match="pick at least one colour"):
        session.set_floor(FloorColours(used=True))
    wrong = 7
    session.answer([Answer(wrong, "not_driving", "corrected"), Answer(40, ("unsafe", "safe")[truth[40]], "corrected")])
    session.set_floor(replace(picked(footage, truth), used=True))
    again = make_session()
    assert again.proposal.source[wrong] == "answer" and again.proposal.count("not_driving") == 1
    assert (again.proposal.source == "colours").mean() > 0.9
    assert again.check_colours()["right"] == 1
