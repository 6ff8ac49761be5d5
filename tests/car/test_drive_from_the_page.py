"""Whole drives in which somebody uses donkeycar's web page: faults, modes and marks, as the browser sends them."""

import asyncio
from itertools import groupby

import pytest

from donkey_aicc import channels
from tests import car_under_test as cut
from tests.page_under_test import PATIENCE_S, Page


def drive_with(car, story, **settings):
    """Drive headless at 20 Hz while the story plays; the records of the tub."""
    port = cut.free_port()
    cut.write_settings(car, WEB_CONTROL_PORT=port, MAX_LOOPS=None, **settings)
    process = cut.start(car, "--headless", "--model", "models/straight")
    try:
        Page(car, port).play(story)
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return cut.read_tub(cut.only_tub(car))[0]


def states(records, *names):
    """What the records say, one entry per lasting state: what holds for one tick only is on its way to the next."""
    runs = ((values, len(list(run))) for values, run in groupby(records, key=lambda r: tuple(r[name] for name in names)))
    lasting = [values for values, length in runs if length > 1]
    return [values for values, _ in groupby(lasting)]


@pytest.fixture
def car(tmp_path):
    return cut.make_car(tmp_path / "mycar")


def test_faults_and_marks_from_the_web_buttons_in_the_simulator(car):
    async def story(page):
        await page.watch()
        await page.click("w1")
        await page.post(buttons={"w3": True})
        await page.send(drive_mode="user")
        await page.send(drive_mode="local")
        await page.click("w5")
        await page.click("w2")
        await page.click("w4")
        await page.click("w2")

    records = drive_with(car, story, AICC_MARK_BUTTON="w2")
    assert states(records, "user/mode", channels.INJECT_PROTOCOL, channels.UNSAFE_MARK) == [
        ("local", "", False),
        ("local", "dark", False),
        ("local", "bias+dark", False),
        ("user", "", False),
        ("local", "bias+dark", False),
        ("local", "", False),
        ("local", "", True),
        ("local", "latency", True),
        ("local", "latency", False),
    ]
    for record in records:
        driver = "user" if record["user/mode"] == "user" else "pilot"
        disturbed = {"bias", "latency"} & set(record[channels.INJECT_PROTOCOL].split("+"))
        assert disturbed or record["steering"] == record[f"{driver}/angle"]
    episodes = [episode for (episode,) in states(records, channels.INJECT_EPISODE)]
    assert episodes == [-1, 0, 1, -1, 2, -1, 3]


def test_a_real_car_injects_only_while_armed(car):
    arm_s = 4.0

    async def story(page):
        await page.watch()
        await page.click("w3")  # arms, and the schedule begins
        await page.click("w3")
        await asyncio.sleep(arm_s)  # ends by itself
        await page.watch()
        await page.click("w1")
        await page.click("w5")  # ends at once
        await page.click("w1")
        await page.send(drive_mode="user")

    mock = {"AICC_SIM": False, "CAMERA_TYPE": "MOCK", "DRIVE_TRAIN_TYPE": "MOCK", "IMAGE_W": 64, "IMAGE_H": 48}
    inject = {"AICC_INJECT": "dark:4", "AICC_INJECT_BUTTONS": True, "AICC_INJECT_ARM_S": arm_s, "AICC_INJECT_MAX_THROTTLE": 0.3}
    records = drive_with(car, story, **mock, **inject)
    assert states(records, "user/mode", channels.INJECT_PROTOCOL) == [
        ("local", ""),
        ("local", "dark"),
        ("local", "bias+dark"),
        ("local", ""),
        ("local", "dark"),
        ("local", ""),
        ("local", "dark"),
        ("user", ""),
    ]
    biased = [record["throttle"] for record in records if "bias" in record[channels.INJECT_PROTOCOL]]
    assert max(biased) <= 0.3
    assert all(record["throttle"] > 0.4 for record in records if record[channels.INJECT_PROTOCOL] == "dark" and _piloted(record))


def _piloted(record):
    return record["user/mode"] == "local"
