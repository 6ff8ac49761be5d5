"""The answer first: what it says when calibration helps, when it hurts, and when nothing is known."""

import copy
import io

import numpy as np
import pytest
from PIL import Image

from donkey_aicc.evaluation.answer import four_numbers, sentence
from donkey_aicc.evaluation.figures.fault_figures import fault_pictures
from donkey_aicc.tubs.drive import make_drive


@pytest.fixture
def changed(results):
    """changed(ours, raw): the results with these errors under faults."""

    def change(ours, raw):
        made = copy.deepcopy(results)
        made["calibration"]["tta_rho_delta"]["ece"]["ood_mean"]["mean"] = ours
        made["calibration"]["none"]["ece"]["ood_mean"]["mean"] = raw
        return made

    return change


def test_the_sentence_says_how_far_off_the_confidence_is(changed):
    said = sentence(changed(0.114, 0.27))
    assert "is off by 11 points of 100" in said and "the raw prediction by 27 points" in said and "worse" not in said
    assert "made it worse" in sentence(changed(0.3, 0.2))
    assert "too few" in sentence(changed(None, 0.2))


def test_four_numbers_and_the_alarm_takes_the_last_place_where_there_is_one(changed):
    made = changed(0.114, 0.27)
    made.pop("alarm", None)
    first, _, _, last = four_numbers(made)
    assert first.shown == "0.11" and "raw: 0.27" in first.reading and "see the faults" in last.name
    made["alarm"] = {"conditions": {"dark": {"departures": 5, "announced": 4}, "blur": {"departures": 2, "announced": 2}}}
    assert four_numbers(made)[3].shown == "6 of 7"


def drive(name, severities, colour):
    images = np.full((len(severities), 64, 64, 3), colour, np.uint8)
    protocol = np.where(np.array(severities) > 0, "dark", "")
    return make_drive(name, "s", images, np.zeros((len(severities), 2)), protocol=protocol, severity=np.array(severities))


def test_there_is_a_picture_per_severity():
    nominal, faulty = [drive("n", [0] * 4, 200)], {"dark": [drive("a", [0, 2, 2, 2], 40), drive("b", [0, 4, 4, 0], 10)]}
    found = fault_pictures(nominal, faulty)
    assert found == fault_pictures(nominal, faulty)
    assert [(name, [label for label, _ in tiles]) for name, tiles in found] == [
        ("nominal", [""]),
        ("dark", ["severity 2", "severity 4"]),
    ]
    weakest, strongest = (np.asarray(Image.open(io.BytesIO(jpeg))).astype(int) for _, jpeg in found[1][1])
    assert strongest.shape == (128, 128, 3) and np.abs(strongest - 10).max() < 8 and np.abs(weakest - 40).max() < 8
