"""Replay in a real browser: it scrubs, plays, steps and jumps to events, by mouse and by keys; one file does the same."""

from urllib.parse import urlsplit

import pytest

from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.replay_page import replay_page, write_html
from tests.browser.chromium import SIZES, Tab
from tests.replay.recorded_tub import DANGER, FAULT, write_tub
from tests.served_page import served

READY = "document.body.dataset.ready === 'yes'"
OVERFLOWING = """() => [...document.querySelectorAll('button, select, .bar-name, .alarm, .reason, dd, h2')]
    .filter((node) => node.checkVisibility() && node.clientWidth && node.scrollWidth > node.clientWidth + 1)
    .map((node) => node.textContent)"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_run(write_tub(tmp_path_factory.mktemp("replay") / "tub"))


@pytest.fixture(scope="module")
def address(run):
    with served(replay_page([run], [None])) as found:
        yield found


@pytest.fixture
def replay(tab, address):
    tab.page.goto(address)
    tab.until(READY)
    yield tab
    assert tab.complaints == []


def record(tab):
    """The record that is shown."""
    return int(tab.page.locator(".facts div").first.locator("dd").inner_text())


def test_keys_step_and_jump_through_the_drive(replay):
    assert record(replay) == 0
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        replay.page.keyboard.press(key)
    assert record(replay) == 1
    replay.page.keyboard.press("Shift+ArrowRight")
    assert record(replay) == 21 and "Careful" in replay.text(".dial")
    replay.page.keyboard.press("End")
    assert record(replay) == 59
    replay.page.keyboard.press("p")
    assert record(replay) < 59


def test_scrubbing_shows_another_picture(replay):
    replay.until("document.querySelector('.frame').complete && document.querySelector('.frame').naturalWidth === 64")
    slider = replay.page.locator("#slider")
    slider.evaluate("(node, t) => { node.value = t; node.dispatchEvent(new Event('input')); }", DANGER.start / 20 + 0.01)
    assert record(replay) == DANGER.start and "Danger" in replay.text(".dial")
    replay.until(f"document.querySelector('.frame').src.endsWith('row={DANGER.start}')")
    box = replay.page.locator("#overview").bounding_box()
    replay.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 5)
    assert 28 <= record(replay) <= 31


def test_every_event_is_one_click_away(replay):
    replay.page.get_by_role("button", name="dark:3").click()
    assert record(replay) == FAULT.start and "dark:3" in replay.text(".facts")
    replay.page.get_by_role("button", name="left the lane").click()
    assert "50 cm" in replay.text(".facts")


def test_it_plays_to_the_end_and_stops(replay):
    replay.page.select_option("#speed", "8")
    replay.page.get_by_role("button", name="Play").click()
    replay.until("document.querySelector('.facts dd').textContent === '59'")
    replay.until("document.getElementById('play').getAttribute('aria-label') === 'Play'")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("runs", [1, 2])
def test_the_page_fits_every_screen_and_asks_nobody_else(browser, run, size, runs):
    tab = Tab(browser, size, "dark" if size == "projector" else "light")
    with served(replay_page([run] * runs, [None] * runs)) as address:
        tab.page.goto(address)
        tab.until(READY)
        tab.page.keyboard.press("Shift+ArrowRight")
        assert tab.page.locator("article").count() == runs
        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert tab.page.evaluate(OVERFLOWING) == []
        bar = tab.page.locator("#transport").bounding_box()
        assert bar["y"] + bar["height"] <= SIZES[size][1] + 1 and bar["height"] < 0.4 * SIZES[size][1]
        assert size == "phone_side" or tab.accessibility_faults() == []
    assert tab.complaints == [] and {urlsplit(url).hostname for url in tab.asked} <= {"127.0.0.1", None}
    tab.close()


def test_the_file_to_send_on_works_from_the_disk(run, tab, tmp_path):
    write_html([run], tmp_path / "drive.html")
    tab.page.goto(f"file://{tmp_path / 'drive.html'}")
    tab.until(READY)
    tab.page.get_by_role("button", name="dark:3").click()
    assert record(tab) == FAULT.start and "all pictures" in tab.text("#names")
    tab.until("document.querySelector('.frame').naturalWidth === 64")
    assert tab.complaints == [] and {urlsplit(url).scheme for url in tab.asked} <= {"file", "data"}
