"""The cockpit in a real browser, fed by a scripted drive: what one sees, what the keys do, what it says when news stop."""

from urllib.parse import urlsplit

import pytest

from tests.browser.chromium import SIZES, Tab
from tests.browser.scripted_drive import ALARMS, TOKEN, ScriptedDrive, served

LIVE = "document.getElementById('link').textContent === 'live'"
OVERFLOWING = """() => [...document.querySelectorAll('button, select, .bar-name, .alarm, .reason, dd, h2')]
    .filter((node) => node.checkVisibility() && node.clientWidth && node.scrollWidth > node.clientWidth + 1)
    .map((node) => node.textContent)"""


@pytest.fixture
def drive():
    return ScriptedDrive()


@pytest.fixture
def cockpit(drive, tab):
    """The page open with the token and live."""
    with served(drive) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && !document.getElementById('pad').disabled")
        yield tab


@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_every_screen_and_asks_nobody_else(browser, drive, size):
    drive.alarm, drive.fault = "danger", "dark"
    tab = Tab(browser, size, "dark" if size == "projector" else "light")
    with served(drive) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && document.getElementById('gauges').children.length")
        width, content, height, tall = tab.page.evaluate(
            "[innerWidth, document.documentElement.scrollWidth, innerHeight, document.documentElement.scrollHeight]"
        )
        assert content <= width
        assert size not in ("laptop", "projector") or tall <= height + 1  # a lecture hall cannot scroll
        assert tab.page.evaluate(OVERFLOWING) == []
        assert "Danger" in tab.text("#dial") and ALARMS["danger"] in tab.text("#dial")
        boxes = {name: tab.page.locator(name).bounding_box() for name in ("#start", "#stop", "#halt", "#dial")}
        assert all(box["y"] + box["height"] <= height + 1 for box in boxes.values())  # nobody scrolls in an emergency
        areas = {name: box["width"] * box["height"] for name, box in boxes.items()}
        assert areas["#halt"] > 1.5 * areas["#stop"] > 0
    assert tab.complaints == []
    outside = [url for url in tab.asked if urlsplit(url).scheme not in ("blob", "data") and urlsplit(url).hostname != "localhost"]
    assert len(tab.asked) > 10 and outside == []
    tab.close()


def test_values_move_while_the_car_drives(cockpit):
    first = cockpit.text("#facts"), cockpit.page.locator("#dial [role=img]").get_attribute("aria-label")
    src = cockpit.page.locator("#frame").get_attribute("src")
    cockpit.until(f"document.getElementById('facts').innerText !== {first[0]!r}")
    cockpit.until(f"document.querySelector('#dial [role=img]').ariaLabel !== {first[1]!r}")
    cockpit.until(f"document.getElementById('frame').src !== {src!r}")


def wait_until(cockpit, true, seconds=20.0):
    """For what the car has heard; the page's reply may be that of the request before."""
    for _ in range(int(seconds / 0.05)):
        if true():
            return
        cockpit.page.wait_for_timeout(50)


def test_space_and_escape_stop_wherever_the_focus_is(drive, cockpit):
    cockpit.page.locator("#record").focus()
    cockpit.page.keyboard.press("Space")
    cockpit.page.locator("#protocol").focus()
    cockpit.page.keyboard.press("Escape")
    wait_until(cockpit, lambda: len(drive.asked) == 2)
    assert [given["do"] for given in drive.asked] == ["halt", "halt"]
    cockpit.until("document.getElementById('reply').textContent === 'halt done'")


def test_marks_only_while_the_button_is_held(drive, cockpit):
    cockpit.page.locator("#mark").hover()
    cockpit.page.mouse.down()
    cockpit.page.wait_for_timeout(400)
    cockpit.page.mouse.up()
    wait_until(cockpit, lambda: drive.asked and drive.asked[-1]["held"] is False)
    cockpit.page.wait_for_timeout(400)
    held = [given["held"] for given in drive.asked]
    assert held[:-1] == [True] * (len(held) - 1) and len(held) >= 2 and held[-1] is False


def test_without_the_token_one_looks_only(drive, tab):
    with served(drive) as address:
        tab.page.goto(address)
        tab.until(LIVE)
        assert tab.page.locator("#start").is_disabled()
        tab.page.keyboard.press("Escape")
        tab.until("document.getElementById('reply').textContent === 'halt done'")  # whoever sees the danger may stop the car
        assert [given["do"] for given in drive.asked] == ["halt"] and tab.page.locator("#stop").is_disabled()
        drive.asked.clear()
        tab.page.fill("#token", TOKEN)
        tab.page.keyboard.press("Enter")
        tab.until("!document.getElementById('start').disabled")
        assert drive.asked == []
        assert TOKEN not in tab.page.url


def test_where_looking_needs_the_token_nothing_is_shown_before_it_and_all_after(tab):
    drive = ScriptedDrive(view="token")
    with served(drive) as address:
        tab.page.goto(address)
        tab.until("document.getElementById('old').textContent === 'No data: viewing needs the token'")
        assert tab.page.locator("#frame").is_hidden() and tab.page.locator("#token-form").is_visible()
        tab.page.fill("#token", TOKEN)
        tab.page.keyboard.press("Enter")
        tab.until(f"{LIVE} && document.getElementById('old').hidden && !document.getElementById('frame').hidden")


def test_a_page_opened_before_the_first_frame_says_so_and_one_that_hears_no_more_too(drive, tab):
    with served(drive, moving=False) as address:
        tab.page.goto(address)
        tab.until("document.getElementById('old').textContent === 'No data: the drive loop has not begun'")
        assert "No picture yet" in tab.text("#view")
        drive.tick(1)
        tab.until(LIVE)
        tab.until("document.getElementById('old').textContent.includes('the car\\'s drive loop has stopped')")
        assert tab.page.locator("#old").is_visible()


@pytest.mark.parametrize(("size", "theme", "alarm"), [("laptop", "light", "danger"), ("phone", "dark", "watch")])
def test_axe_finds_no_accessibility_fault(browser, drive, size, theme, alarm):
    drive.alarm, drive.fault = alarm, "blur"
    tab = Tab(browser, size, theme)
    with served(drive) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && document.getElementById('gauges').children.length")
        assert tab.accessibility_faults() == []
        drive.end()
        tab.until("!document.getElementById('old').hidden")
        assert [fault for fault in tab.accessibility_faults() if fault[0] == "critical"] == []
    tab.close()


@pytest.mark.parametrize(("size", "px"), [("projector", 150), ("laptop", 110), ("phone", 60), ("phone_side", 50)])
def test_the_full_screen_view_is_read_from_afar_and_keeps_the_red_button(browser, drive, size, px):
    drive.alarm = "danger"
    tab = Tab(browser, size)
    with served(drive) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && document.getElementById('gauges').children.length")
        tab.page.click("#big")
        tab.until("document.getElementById('now').checkVisibility() === false")
        size_of = "parseFloat(getComputedStyle(document.querySelector('.dial-number')).fontSize)"
        tab.until(f"{size_of} >= {px}")
        assert tab.page.evaluate("document.documentElement.scrollHeight") <= tab.page.evaluate("innerHeight") + 2
        assert tab.page.locator("#halt").is_visible() and tab.page.locator("#start").is_visible()
        tab.page.click("#big")
        tab.until("document.getElementById('now').checkVisibility()")
    tab.close()


def test_who_opens_the_page_late_sees_what_was(drive, tab):
    with served(drive) as address:
        tab.page.wait_for_timeout(2500)
        tab.page.goto(address)
        tab.until(LIVE)
    history = drive.feed.history()
    assert len(history) > 8 and history[0]["tick"] == 1 and {"t", "stays", "state", "throttle"} <= set(history[0])


def test_danger_sounds_and_shakes_only_after_a_touch_and_not_when_muted(browser, drive):
    tab = Tab(browser, "phone")
    heard = "window.AudioContext = undefined; window.rung = 0; navigator.vibrate = () => { window.rung += 1; return true; };"
    tab.page.add_init_script(heard)
    drive.alarm = "danger"
    with served(drive) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && document.querySelector('#dial').dataset.state === 'danger'")
        tab.page.wait_for_timeout(500)
        assert tab.page.evaluate("window.rung") == 0 and tab.text("#sound") == "Sound: tap"
        tab.page.click("#sound")  # the first touch unlocks, it does not mute
        tab.until("window.rung === 1")
        assert tab.text("#sound") == "Sound on"
        tab.page.click("#sound")
        assert tab.text("#sound") == "Sound off"
        tab.page.wait_for_timeout(3500)
        assert tab.page.evaluate("window.rung") == 1
    tab.close()


def test_the_link_to_look_is_a_code_to_scan_without_the_token(cockpit):
    cockpit.page.click("#share-open")
    cockpit.until("document.querySelector('#share img').complete && document.querySelector('#share img').naturalWidth > 100")
    assert cockpit.text("#share-address").endswith("/aicc") and TOKEN not in cockpit.text("#share")
    cockpit.page.keyboard.press("Escape")
    cockpit.until("!document.getElementById('share').open")


def test_a_held_car_says_so_and_offers_to_let_it_go_on(drive, cockpit):
    assert cockpit.page.locator("#confirm").is_hidden()
    drive.held = ("stopped", 'The governor holds the car, and the reason is gone: press "Let it go on".')
    cockpit.until("document.querySelector('#confirm').checkVisibility()")
    assert "Let it go on" in cockpit.text("#dial") and "All well" not in cockpit.text("#dial")
    cockpit.page.click("#confirm")
    wait_until(cockpit, lambda: drive.asked)
    assert drive.asked[-1]["do"] == "confirm"
