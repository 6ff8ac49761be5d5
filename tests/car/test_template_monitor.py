"""Whole drives of the template with monitor and faults: what each record holds, and that one drive is no other's past."""

import numpy as np
import pytest
from PIL import Image

from donkey_aicc import channels
from donkey_aicc.car.assembly import INJECTION_CHANNELS, MONITOR_CHANNELS
from tests import car_under_test as cut
from tests.monitor_under_test import CONTEXT, add_calibrator, make_bundle

UNUSUAL = ("unusual picture", "unusual driving", "unusual picture and driving")
FAST = ("--headless", "--fast", "--model", "models/straight")
LOOPS = 30


@pytest.fixture
def car(tmp_path, monkeypatch):
    bundle = make_bundle(tmp_path / "bundle")
    add_calibrator(bundle)
    folder = cut.make_car(tmp_path / "mycar", MAX_LOOPS=LOOPS, AICC_BUNDLE=str(bundle))
    monkeypatch.chdir(folder)
    return folder


def tubs(car):
    return sorted((car / "data").glob("tub_*"))


def test_a_second_drive_repeats_the_first(car):
    """In one process, with the same seed: whatever a part kept would show."""
    for _ in range(2):
        assert cut.drive(car, *FAST, "--inject", "dark:4@12-20ticks,bias:2@15-25ticks") == 0
    (first, about), (second, _) = (cut.read_tub(tub) for tub in tubs(car))
    assert len(first) == LOOPS and about.metadata["safe"] == "as labelled in its training"  # replay says it beside the dial
    names = {*INJECTION_CHANNELS, *MONITOR_CHANNELS, "steering", "throttle", channels.CTE} - {channels.SCORES_AGE_S}
    for one, other in zip(first, second, strict=True):
        assert {name: one[name] for name in names} == {name: other[name] for name in names}
    statuses = [record[channels.STATUS] for record in first]
    # What is judged before the drivetrain rests on the scores of the tick before.
    warm = statuses.count("warming up")
    assert CONTEXT <= warm < LOOPS and statuses[:warm] == ["warming up"] * warm
    assert set(statuses[warm:]) <= {"ok", *UNUSUAL}


def test_the_clean_frame_is_stored_beside_the_one_that_was_seen(car):
    cut.write_settings(car, AICC_RECORD_CLEAN=True, AICC_INJECT="dark:4@12-20ticks")
    assert cut.drive(car, *FAST) == 0
    (tub,) = tubs(car)
    records, _ = cut.read_tub(tub)
    pairs = [tuple(pixels(tub, record[name]) for name in (channels.IMAGE, channels.CLEAN_IMAGE)) for record in records]
    darker = [bool(seen.mean() < 0.7 * clean.mean()) for seen, clean in pairs]
    assert darker == [record[channels.INJECT_PROTOCOL] == "dark" for record in records]
    assert darker == [12 <= number < 20 for number in range(LOOPS)]


def pixels(tub, name):
    return np.asarray(Image.open(tub / "images" / name), dtype=float)


def test_the_command_line_wins_over_the_key(car):
    cut.write_settings(car, AICC_INJECT="blur:1", AICC_BUNDLE="off", MAX_LOOPS=3)
    for options in ((), ("--inject", "dark:2"), ("--inject", "none")):
        assert cut.drive(car, *FAST, *options) == 0
    played = [[record[channels.INJECT_PROTOCOL] for record in cut.read_tub(tub)[0]] for tub in tubs(car)]
    # in the very first tick nobody has said yet who drives, so it counts as the user
    assert played == [["", "blur", "blur"], ["", "dark", "dark"], ["", "", ""]]
