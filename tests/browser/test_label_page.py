"""Labelling in a real browser: by keys, by holding one, by clicks on a sheet, by picked colours; on a phone, too."""

from types import SimpleNamespace

import numpy as np
import pytest

from donkey_aicc.labelling.answers import CLASSES, SPREAD, Answer
from donkey_aicc.labelling.footage import Footage, general_features
from donkey_aicc.labelling.label_page import label_page
from donkey_aicc.labelling.session import LabelSession
from tests.browser.chromium import Tab
from tests.labelling.conftest import drives_of, off_road
from tests.served_page import served

DRAWN = "Number(document.getElementById('frame').dataset.at) >= 0 && document.querySelectorAll('#figures dd').length > 4"
OVERFLOWING = """() => [...document.querySelectorAll('button, dd, dt, p, figure')]
    .filter((node) => node.checkVisibility() && node.clientWidth && node.scrollWidth > node.clientWidth + 1)
    .map((node) => node.textContent)"""


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "donkey_aicc.labelling.stored_pictures.read_tub", lambda folder: SimpleNamespace(records=(), image_paths=list)
    )
    footage = Footage(drives_of(1), {"tub": tmp_path / "tub"})
    found = LabelSession(footage, general_features(footage.drives), tmp_path / "labels.csv")
    for position in range(0, len(footage), 25):
        found.answer([Answer(position, CLASSES[int(not off_road(0)[position])], SPREAD)])
    found.refit()
    return found


@pytest.fixture
def address(session):
    with served(label_page(session)) as found:
        yield found


def answers(tab):
    return int(tab.page.locator("#figures dd").first.inner_text().split()[0])


def test_keys_answer_hold_and_undo(tab, address, session):
    tab.page.goto(address)
    tab.until(DRAWN)
    before, asked = answers(tab), session.ask()[0][0]
    for word, key in (("safe", "s"), ("unsafe", "u"), ("not_driving", "n"), ("skip", "k")):
        known = len(session.log.latest)
        tab.page.keyboard.press(key)
        tab.until(f"Number(document.getElementById('frame').dataset.at) !== {asked}")
        assert len(session.log.latest) == known + 1 and session.log.latest[asked].answer == word
        asked = int(tab.page.locator("#frame").get_attribute("data-at"))
    assert answers(tab) == before + 3  # a skipped frame is no answer
    tab.page.keyboard.down("u")
    tab.until("/: (0[.][2-9]|[1-9])/.test(document.getElementById('playing').textContent)")
    tab.page.keyboard.up("u")
    tab.until(f"parseInt(document.querySelector('#figures dd').textContent) > {before + 3}")
    held = [one for one in session.log.latest.values() if one.why == "stretch"]
    assert len(held) > 4 and {one.answer for one in held} == {"unsafe"} and min(one.position for one in held) == asked
    tab.page.keyboard.press("z")
    tab.until(f"parseInt(document.querySelector('#figures dd').textContent) === {before + 3}")
    assert not [one for one in session.log.latest.values() if one.why == "stretch"]
    assert tab.complaints == []


def test_a_click_on_a_sheet_corrects_a_frame(tab, address, session):
    tab.page.goto(address)
    tab.until(DRAWN)
    tab.page.click("text=Check")
    tab.until("document.querySelectorAll('#sheet button').length > 5")
    assert "What it calls safe" in tab.text("#sheet-about")
    known = set(session.log.latest)
    tab.page.locator("#sheet button").first.click()
    tab.until("document.querySelector('#sheet button').dataset.said === 'unsafe'")
    tab.page.click("text=Work out again")
    tab.until("!document.querySelector('#sheet [data-said]')")
    (new,) = (one for at, one in session.log.latest.items() if at not in known or one.why == "corrected")
    assert new.answer == "unsafe" and session.proposal.label[new.position] == 0
    assert tab.complaints == []


def test_colours_picked_with_the_mouse_label_the_drive(tab, address, session):
    tab.page.goto(address)
    tab.until(DRAWN)
    tab.page.click("nav >> text=Floor")
    slider = tab.page.locator("#floor-at")
    for tool, off in (("Pick road", False), ("Pick not-road", True)):
        at = int(np.flatnonzero(off_road(0) == off)[10])
        tab.page.click(f"#tools >> text='{tool}'")
        slider.evaluate("(node, at) => { node.value = at; node.dispatchEvent(new Event('input')); }", at)
        tab.until("document.getElementById('floor-frame').width > 300")
        box = tab.page.locator("#floor-frame").bounding_box()
        tab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 0.9 * box["height"])
        tab.until(f"document.querySelectorAll('#{'not-road' if off else 'road'} span').length === 1")
    tab.until("document.getElementById('floor-check').textContent.includes('agree')")
    tab.page.click("#use")
    tab.until("document.getElementById('floor-check').textContent.includes('comes from these colours')")
    assert (session.proposal.source == "colours").mean() > 0.8 and tab.complaints == []


def test_a_click_on_a_line_shows_its_colour(tab, address):
    tab.page.goto(address)
    tab.until(DRAWN)
    tab.page.click("nav >> text=Line")
    tab.until("document.getElementById('line-frame').width > 300")
    box = tab.page.locator("#line-frame").bounding_box()
    tab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 0.5 * box["height"])  # green beside the road
    tab.until("document.querySelectorAll('#line-picks span').length === 1 && !document.getElementById('line-write').disabled")
    assert tab.text("#line-colour").startswith("--line ") and tab.complaints == []
    tab.page.click("#line-forget")
    tab.until("document.getElementById('line-write').disabled")


def test_a_thumb_answers_and_nothing_is_cut_off_on_a_phone(browser, address, session):
    tab = Tab(browser, "phone", "dark")
    tab.page.goto(address)
    tab.until(DRAWN)
    before = answers(tab)
    tab.page.locator("[data-answer=safe]").tap()
    tab.until(f"parseInt(document.querySelector('#figures dd').textContent) === {before + 1}")
    for name in ("Answer", "Check", "Floor", "Line"):
        tab.page.click(f"nav >> text={name}")
        tab.page.wait_for_timeout(300)
        assert tab.page.evaluate(OVERFLOWING) == [] and tab.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.accessibility_faults() == []
    assert tab.complaints == []
    tab.close()
