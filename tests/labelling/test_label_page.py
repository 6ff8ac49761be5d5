"""The page's requests over a real socket, as its scripts make them."""

import json

import cv2
import numpy as np
import pytest

from donkey_aicc.labelling import label_page as module
from donkey_aicc.labelling.label_page import label_page
from tests.served_page import get, post, served


@pytest.fixture
def page(make_session, monkeypatch, footage):
    class Contents:
        records = ()

        def image_paths(self):
            return []

    monkeypatch.setattr("donkey_aicc.labelling.stored_pictures.read_tub", lambda folder: Contents())
    session = make_session()
    with served(label_page(session)) as address:
        yield address, session


def test_a_question_is_shown_answered_and_undone(page, truth):
    address, session = page
    state = json.loads(get(address, "/api/state")[1])
    at = state["question"]["at"]
    status, after = post(address, "answer", {"at": at, "answer": "safe"})
    assert status == 200 and after["answers"]["safe"] == 1 and after["question"]["at"] != at
    assert session.log.latest[at].why == "spread"
    status, after = post(address, "undo", {})
    assert after["undone"] == at and after["answers"]["safe"] == 0 and after["question"]["at"] == at


def test_a_held_key_labels_a_stretch_of_one_drive(page, footage):
    address, session = page
    post(address, "answer", {"at": 10, "until": 49, "answer": "unsafe"})
    assert sum(one.why == "stretch" for one in session.log.latest.values()) == 40
    end = int(footage.starts[1])
    for wrong in (
        {"at": end - 5, "until": end, "answer": "safe"},
        {"at": 5, "until": 4, "answer": "safe"},
        {"at": 1e9, "answer": "safe"},
    ):
        status, answer = post(address, "answer", wrong)
        assert status == 400 and answer["error"]
    assert post(address, "answer", {"at": 3, "answer": "maybe"})[0] == 400
    assert len(session.log.latest) == 40


def test_clips_hold_the_frames_in_order(page, footage):
    address, session = page
    kind, content = get(address, "/api/clip?number=2")
    sheet = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    width, height = json.loads(get(address, "/api/state")[1])["clip"]["cell"]
    assert kind == "image/jpeg" and sheet.shape == (4 * height, 8 * width, 3)
    cell = sheet[height : 2 * height, 3 * width : 4 * width]
    expected = cv2.resize(footage.image(2 * 32 + 8 + 3), (width, height), interpolation=cv2.INTER_AREA)
    assert np.abs(cell.astype(int) - expected).mean() < 12


def test_sheets_show_a_class_no_moment_twice_and_take_corrections(page, truth, footage):
    address, session = page
    for position in range(0, len(truth), 31):
        session.answer([module.Answer(position, ("unsafe", "safe")[truth[position]], "spread")])
    session.refit()
    sheet = json.loads(get(address, "/api/sheet?kind=safe")[1])
    places = [each["at"] for each in sheet["frames"]]
    assert len(places) == module.ON_A_SHEET and (session.proposal.label[places] == 1).all()
    same = footage.drive_of
    assert min(abs(a - b) for a in places for b in places if a != b and same[a] == same[b]) >= 14
    assert get(address, "/api/mosaic?at=" + ",".join(map(str, places[:9])))[0] == "image/jpeg"
    post(address, "answer", {"at": places[0], "answer": "unsafe"})
    post(address, "refit", {})
    assert session.proposal.label[places[0]] == 0
    second = json.loads(get(address, "/api/sheet?kind=safe&page=1")[1])
    assert not {each["at"] for each in second["frames"]} & set(places)


def test_floor_colours_are_picked_previewed_and_used(page, truth, footage):
    address, session = page
    for kind, value in (("road", 1), ("not_road", 0)):
        at = int(np.flatnonzero(truth == value)[5])
        status, state = post(address, "pick", {"at": at, "x": 0.5, "y": 0.9, "kind": kind})
        assert status == 200
    assert len(state["floor"]["drive"]) == module.COLUMNS_OF_THE_DRIVE and state["floor"]["check"]["labelled_share"] > 0.9
    assert get(address, "/api/floor_picture?at=5")[0] == "image/jpeg"
    status, state = post(address, "floor", {"use": True, "region": [0.2, 0.7, 0.8, 1.0]})
    assert state["floor"]["used"] and state["labels"]["safe"] > 500
    assert post(address, "floor", {"region": [0.9, 0.7, 0.2, 1.0]})[0] == 400
    status, state = post(address, "floor", {"forget": True, "use": False})
    assert not state["floor"]["road"] and state["labels"]["safe"] == 0
