"""Driving from the cockpit in a real browser: pad, keys and game controller; what is let go is let go."""

import pytest

from tests import car_under_test as cut
from tests.browser.scripted_drive import TOKEN, ScriptedDrive, served
from tests.browser.test_cockpit_of_a_car import LIVE, PATIENCE_S, end, open_page

# Chromium without a controller: what the Gamepad API would say of one.
CONTROLLER = """() => { const pedals = Array.from({length: 17}, () => ({value: 0}));
    window.stick = { connected: true, id: 'Test Pad', axes: [0, 0, 0, 0], buttons: pedals };
    navigator.getGamepads = () => [null, window.stick]; }"""


@pytest.fixture
def drive():
    return ScriptedDrive(actions=["mode", "record", "mark", "stop", "halt", "drive"])


@pytest.fixture
def page(drive, tab):
    with served(drive) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && !document.getElementById('pad').disabled")
        tab.page.click("#wheel")
        yield tab.page


def commands(drive):
    return [(given["angle"], given["throttle"]) for given in drive.asked if given["do"] == "drive"]


def last(page, drive, wanted):
    """Wait until the newest command is this one."""
    for _ in range(200):
        if commands(drive)[-1:] == [wanted]:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never {wanted}: {commands(drive)[-5:]}")


def test_keys_drive_while_they_are_held_and_space_stops_everything(drive, page):
    page.keyboard.down("ArrowUp")
    last(page, drive, (0, 0.3))  # the slider's most
    page.keyboard.down("a")
    last(page, drive, (-1, 0.3))
    assert (-0.25, 0.3) in commands(drive)  # a key turns the wheel bit by bit
    page.keyboard.up("ArrowUp")
    last(page, drive, (-1, 0))
    page.keyboard.press("Space")
    last(page, drive, (0, 0))
    for _ in range(100):
        if "halt" in [given["do"] for given in drive.asked]:
            break
        page.wait_for_timeout(50)
    assert page.locator("#wheel-panel").is_hidden() and "halt" in [given["do"] for given in drive.asked]
    told = len(commands(drive))
    page.keyboard.down("ArrowUp")
    page.wait_for_timeout(300)
    assert len(commands(drive)) == told


def test_the_pad_and_what_ends_it(drive, page):
    page.wait_for_timeout(500)  # the page may still be laid out anew
    box = page.locator("#wheel-pad").bounding_box()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 1)
    page.mouse.down()
    page.wait_for_timeout(400)
    angle, throttle = commands(drive)[-1]
    assert angle == pytest.approx(0.5, abs=0.02) and throttle == pytest.approx(0.3, abs=0.01)
    page.mouse.up()
    last(page, drive, (0, 0))
    page.mouse.down()
    page.wait_for_timeout(300)
    assert commands(drive)[-1] != (0, 0)
    page.evaluate("() => window.dispatchEvent(new Event('blur'))")  # another window is in front
    last(page, drive, (0, 0))


def test_a_game_controller_drives_and_rests(drive, page):
    page.evaluate(CONTROLLER)
    page.evaluate("() => { window.stick.axes[0] = -0.5; window.stick.buttons[7].value = 0.5; }")
    last(page, drive, (-0.5, 0.15))
    page.evaluate("() => { window.stick.axes[0] = 0.05; window.stick.buttons[7].value = 0; }")  # sticks never rest at zero
    last(page, drive, (0, 0))
    assert "Test Pad" in page.locator("#wheel-controller").inner_text()


def test_the_panel_can_be_read_and_a_car_that_steers_otherwise_has_none(tab):
    with served(ScriptedDrive(actions=["stop", "drive"])) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && !document.getElementById('wheel').hidden")
        tab.page.click("#wheel")
        tab.until("document.getElementById('wheel-mode').textContent.includes('press You first')")
        assert tab.accessibility_faults() == [] and tab.complaints == []
    with served(ScriptedDrive()) as address:
        tab.page.goto(f"{address}#token={TOKEN}")
        tab.until(f"{LIVE} && !document.getElementById('pad').disabled")
        assert tab.page.locator("#wheel").is_hidden()


def test_a_simulated_car_is_driven_from_the_page(tmp_path, tab):
    port = cut.free_port()
    car = cut.make_car(
        tmp_path / "car", WEB_CONTROL_PORT=port, AICC_WEB_TOKEN="token-of-this-test", AUTO_RECORD_ON_THROTTLE=False
    )
    process = cut.start(car, "--headless", "--model", "models/straight")
    try:
        while not open_page(tab, f"http://localhost:{port}/aicc#token=token-of-this-test"):
            assert process.poll() is None, process.communicate()[1]
            tab.page.wait_for_timeout(200)
        tab.until(f"{LIVE} && !document.getElementById('pad').disabled", PATIENCE_S)
        tab.page.click("[data-mode=user]")
        tab.page.click("#wheel")
        tab.page.keyboard.down("w")
        tab.until("document.getElementById('wheel-now').textContent === 'steering 0.00, throttle 0.30'", PATIENCE_S)
        tab.page.wait_for_timeout(1000)
        tab.page.goto("about:blank")  # gone without a word
        tab.page.wait_for_timeout(1500)
        end(process)
    finally:
        process.kill()
    records, _ = cut.read_tub(cut.only_tub(car))
    mine = [record["throttle"] for record in records if record["user/mode"] == "user"]
    assert 0.3 in mine and mine[-1] == 0.0
