"""Marks set by hand: what a click and a held button record, and the labels that come out of the tub."""

import donkeycar as dk
import numpy as np
from donkeycar.parts.explode import ExplodeDict
from donkeycar.parts.tub_v2 import TubWriter

from donkey_aicc import channels
from donkey_aicc.parts.unsafe_mark import UnsafeMark
from donkey_aicc.tubs.load import load_drives

RATE_HZ = 20


def test_one_click_begins_the_mark_another_ends_it():
    mark = UnsafeMark()
    clicks = [None, True, False, None, None, True, False, None]
    assert [mark.run(click) for click in clicks] == [False, True, True, True, True, False, False, False]


def test_a_click_counts_once_however_long_it_lasts():
    mark = UnsafeMark()
    assert [mark.run(click) for click in (True, True, True, False)] == [True] * 4


def test_the_controllers_button_marks_while_held_and_a_short_tap_marks_one_frame():
    mark = UnsafeMark()
    mark.press()
    assert [mark.run(), mark.run()] == [True, True]
    mark.release()
    assert mark.run() is False
    mark.press()
    mark.release()
    assert [mark.run(), mark.run()] == [True, False]


def test_nothing_leaks_into_the_next_drive():
    mark = UnsafeMark()
    mark.run(True)
    mark.press()
    mark.shutdown()
    assert mark.run() is False


class Car:
    """Camera, commands and a web page whose button is clicked in the given ticks."""

    def __init__(self, clicked):
        self.tick, self.clicked = -1, clicked

    def run(self):
        self.tick += 1
        image = np.random.default_rng(self.tick).integers(0, 256, (24, 32, 3), dtype=np.uint8)
        # as donkeycar's page does it: a click is true for one tick, then false for one, then not mentioned
        buttons = {"w2": True} if self.tick in self.clicked else {"w2": False} if self.tick - 1 in self.clicked else {}
        return image, 0.1 * np.sin(self.tick), 0.3, "local", buttons


def test_marks_of_a_drive_are_read_back_as_labels(tmp_path):
    types = {channels.IMAGE: "image_array", "steering": "float", "throttle": "float", "user/mode": "str"}
    types[channels.UNSAFE_MARK] = "boolean"
    vehicle = dk.vehicle.Vehicle()
    vehicle.add(Car(clicked=(30, 36)), outputs=[channels.IMAGE, "steering", "throttle", "user/mode", "web/buttons"])
    vehicle.add(ExplodeDict(vehicle.mem, "web/"), inputs=["web/buttons"])
    vehicle.add(UnsafeMark(), inputs=["web/w2"], outputs=[channels.UNSAFE_MARK])
    writer = TubWriter(str(tmp_path / "tub"), list(types), list(types.values()))
    vehicle.add(writer, inputs=list(types), outputs=["tub/num_records"])
    vehicle.start(rate_hz=RATE_HZ, max_loop_count=50)

    data = load_drives([tmp_path / "tub"], max_gap_s=60.0, cache_dir=tmp_path / "cache")
    assert data.report.tubs[0].label_source == "mark"
    [sequence] = data.drives
    second_before = sequence.times_s >= sequence.times_s[30] - 1.0
    expected = np.where(second_before & (np.arange(50) < 36), 0.0, 1.0)
    assert sequence.safe.tolist() == expected.tolist()
    assert 0 < expected[:30].sum() < 30
