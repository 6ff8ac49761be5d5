"""The cockpit of a whole car in a real browser: what is pressed there shows in the tub, and the page finds the car again."""

import signal

from donkey_aicc import channels
from tests import car_under_test as cut

TOKEN = "token-of-this-test"
LIVE = "document.getElementById('link').textContent === 'live'"
PATIENCE_S = 120.0
REAL_CAR = {
    "AICC_SIM": False,
    "CAMERA_TYPE": "MOCK",
    "DRIVE_TRAIN_TYPE": "MOCK",
    "AICC_INJECT_BUTTONS": True,
    "AICC_INJECT_ARM_S": 300,
    "AICC_WEB_TOKEN": TOKEN,
}


def drive(car):
    return cut.start(car, "--headless", "--model", "models/straight")


def end(process):
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err


def fact(text):
    return f"document.getElementById('facts').innerText.includes({text!r})"


def inject_by_hand(tab):
    """Arm, inject, stop by the space bar; each is seen on the page before the next."""
    tab.until(f"{LIVE} && !document.getElementById('pad').disabled && {fact('none')}", PATIENCE_S)
    tab.page.click("#start")
    tab.until("document.getElementById('reply').textContent.includes('not armed')", PATIENCE_S)
    tab.page.click("#arm")
    tab.until("document.getElementById('arm').textContent.startsWith('Armed')", PATIENCE_S)
    tab.page.select_option("#protocol", "blur")
    tab.page.select_option("#severity", "4")
    tab.page.click("#start")
    tab.until(fact("blur:4"), PATIENCE_S)
    tab.page.wait_for_timeout(300)
    tab.page.keyboard.press("Space")
    tab.until(fact("none"), PATIENCE_S)
    tab.page.wait_for_timeout(300)


def test_what_is_pressed_shows_in_the_tub_and_the_page_comes_back_by_itself(tmp_path, tab):
    port = cut.free_port()
    car = cut.make_car(tmp_path / "car", WEB_CONTROL_PORT=port, **REAL_CAR)
    process = drive(car)
    try:
        while not open_page(tab, f"http://localhost:{port}/aicc#token={TOKEN}"):
            assert process.poll() is None, process.communicate()[1]
            tab.page.wait_for_timeout(200)
        inject_by_hand(tab)
        end(process)
        tab.until("document.getElementById('old').textContent.includes('no connection; trying again')", PATIENCE_S)
        assert tab.page.locator("#old").is_visible()
        process = drive(car)
        tab.until(f"{LIVE} && document.getElementById('old').hidden", PATIENCE_S)
        tab.until("!document.getElementById('start').disabled", PATIENCE_S)  # the token counts again
        end(process)
    finally:
        process.kill()
    records, _ = cut.read_tub(min((car / "data").glob("tub_1_*")))
    told = [(record[channels.INJECT_PROTOCOL], record[channels.INJECT_SEVERITY]) for record in records]
    assert [told[0], *(b for a, b in zip(told, told[1:], strict=False) if a != b)] == [("", 0), ("blur", 4), ("", 0)]


def open_page(tab, address):
    try:
        tab.page.goto(address)
    except Exception:  # playwright has one kind of error for everything, and the car is still starting
        return False
    return True
