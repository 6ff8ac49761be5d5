"""Hazard and alarm judged on drives apart from those of the fit."""

import json

import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import NominalDrives
from donkey_aicc.calibration.base import ScoresOnly
from donkey_aicc.calibration.calibrating import add_alarm
from donkey_aicc.evaluation.alarm_metrics import alarm_table, measure_alarm
from tests.alarm.alarm_tables import alarm_table as made_up


@pytest.fixture(scope="module")
def calibrator():
    nominal = made_up(np.random.default_rng(0), 10)
    driven = made_up(np.random.default_rng(1), 12, dark=(100, 300), departs_after=60, prefix="driven")
    found = ScoresOnly().fit(nominal)
    add_alarm(found, nominal, NominalDrives(fresh=made_up(np.random.default_rng(2), 12, prefix="fresh")), driven)
    return found


def test_departures_are_announced_and_the_hazard_tells_them_apart(calibrator):
    tables = {
        "nominal": made_up(np.random.default_rng(3), 6, prefix="test", drive_spread=0.1),
        "dark": made_up(np.random.default_rng(4), 5, dark=(150, 300), departs_after=70, prefix="dark"),
    }
    found = measure_alarm(calibrator, tables)
    dark, nominal = found["conditions"]["dark"], found["conditions"]["nominal"]
    assert (dark["departures"], dark["announced"]) == (5, 5) and 2.0 < dark["median_lead_s"]["value"] < 3.5
    assert dark["hazard_auroc"]["value"] > 0.85 and dark["hazard_nll"]["value"] < 0.6
    assert nominal["alarmed_drives"] == 0 and nominal["departures"] == 0
    assert nominal["hazard_auroc"] == {"value": None, "reason": "no departure at any horizon"}
    json.dumps(found, allow_nan=False)
    table = alarm_table({"alarm": found})
    assert [row.label for row in table.rows] == ["nominal", "dark"] and "in nominal drives each is false" in table.note


def test_without_an_alarm_it_says_so(calibrator):
    assert measure_alarm(None, {}) == {"reason": "the bundle's calibrator has no alarm; make it with donkey-aicc calibrate"}
    assert alarm_table({}).note == "not measured"
