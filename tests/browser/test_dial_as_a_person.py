"""The dial as a person reads it: a whole car in a real browser, a minute of nominal driving, then four faults one by one.

The drive goes on only while the page is read, and counts its own seconds, so a busy computer reads the same numbers.
"""

import os
import signal
import threading

import numpy as np
import pytest

from donkey_aicc.car.install_parts import create_car
from donkey_aicc.web import cockpit_exchange
from tests import car_under_test as cut
from tests.browser import pictures
from tests.browser.chromium import chromium_path, started

STEP_S, NOMINAL_S, FAULT_S = 0.5, 60.0, 20.0
FAULTS = (("dark", "4"), ("blur", "5"), ("bias", "4"), ("latency", "5"))
READ = """() => [document.querySelector('.dial-number').textContent, document.querySelector('.alarm strong').textContent,
    document.getElementById('ride').innerText]"""


class Readings(threading.Thread):
    """Reads the page beside the drive, which needs the main thread for its signals."""

    def __init__(self, address):
        super().__init__()
        self.address, self.nominal, self.faults, self.trouble = address, [], {}, None

    def run(self):
        try:
            with started() as browser:
                tab = pictures.opened(browser, self.address, "laptop", "light")
                pictures.drive_on(tab, 5.0)
                self.nominal = self.read(tab, NOMINAL_S)
                for fault in FAULTS:
                    pictures.inject(tab, fault)
                    self.faults[fault[0]] = self.read(tab, FAULT_S)
                    pictures.press(tab, "#stop")
                    pictures.drive_on(tab, 6.0)
        except BaseException as error:  # seen in the other thread
            self.trouble = error
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            with pictures.SteppedFeed.now.changed:
                pictures.SteppedFeed.now.wanted = 1 << 60
                pictures.SteppedFeed.now.changed.notify_all()

    def read(self, tab, seconds):
        """[(percent or nan, state, departures)] every half second."""
        found = []
        for _ in range(round(seconds / STEP_S)):
            pictures.SteppedFeed.now.go(STEP_S)
            tab.page.wait_for_timeout(250)
            number, state, ride = tab.page.evaluate(READ)
            percent = float(number.split()[0]) if number != "–" else np.nan
            found.append((percent, state, int(ride.split("departures")[1].split()[0])))
        return found


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    pytest.importorskip("playwright")
    if chromium_path() is None:
        pytest.skip("no Chromium here")
    folder, port = tmp_path_factory.mktemp("dial"), cut.free_port()
    car = create_car(folder / "car")
    told = {"AICC_SCORER_THREADED": False, "AICC_GRADE": "light", "AICC_MAX_SCORE_AGE_S": 60.0}
    cut.write_settings(car, WEB_CONTROL_PORT=port, AICC_WEB_TOKEN=pictures.TOKEN, **told)
    patch = pytest.MonkeyPatch()
    patch.setattr(cockpit_exchange, "CockpitFeed", pictures.SteppedFeed)
    patch.chdir(car)
    reader = Readings(f"http://localhost:{port}/aicc#token={pictures.TOKEN}")
    reader.start()
    cut.drive(car, "--headless")
    reader.join()
    patch.undo()
    if reader.trouble is not None:
        raise reader.trouble
    return reader


@pytest.mark.slow
def test_a_minute_of_nominal_driving_reads_steady_and_high(readings):
    percent = np.array([number for number, *_ in readings.nominal])
    states = [state for _, state, _ in readings.nominal]
    print(
        f"nominal: mean {np.nanmean(percent):.1f}, at least 90 in {np.mean(percent >= 90):.3f}, "
        f"mean jump {np.nanmean(np.abs(np.diff(percent))):.2f}, states { ({s: states.count(s) for s in set(states)}) }"
    )
    assert np.mean(percent >= 90) >= 0.97
    assert np.nanmean(np.abs(np.diff(percent))) <= 2.0
    assert "Danger" not in states and "Monitor blind" not in states


@pytest.mark.slow
def test_before_it_leaves_the_lane_under_a_fault_the_dial_has_fallen_to_a_half(readings):
    """A half is the most that Danger allows; how often it is below, and how long before, is a question for many drives."""
    warned = []
    for fault, rows in readings.faults.items():
        percent, out = np.array([number for number, *_ in rows]), np.array([departures for *_, departures in rows])
        rows_of = [np.flatnonzero(~(percent > 50)), np.flatnonzero(~(percent >= 50)), np.flatnonzero(out > out[0])]
        at_half, below, left = (None if not len(found) else STEP_S * (int(found[0]) + 1) for found in rows_of)
        print(f"{fault}: 50 % or less after {at_half} s, below after {below} s, leaves the lane after {left} s")
        warned.append(left is None or (at_half is not None and at_half < left))
    assert all(warned)
