"""Faults that nothing was fitted on: each does something, every time the same; and the table of their classes counts right."""

import numpy as np
import pytest

from donkey_aicc.faults.protocols import D_AUG_DRIVEN, PROTOCOLS
from studies.governor.class_table import class_markdown, class_rows
from studies.governor.own_faults import ACTUATOR, CLASSES, OWN_FAULTS, played
from studies.governor.rivals import OFF, OURS

RATE_HZ, FRAMES = 20.0, 45


def play(name):
    """What comes out of 45 ticks of pictures that wander and commands that turn."""
    fault, hands = played(name, 3, RATE_HZ)
    base = np.random.default_rng(0).integers(0, 256, (30, 40, 3)).astype(np.uint8)
    seen, sent = [], []
    for tick in range(FRAMES):
        image, command = np.roll(base, tick, axis=1), (0.5 * np.sin(tick / 8.0), 0.4)
        image = fault.sensor.run(image) if fault.sensor else image
        for side in (fault.command, hands):
            command = side.run(*command) if side else command
        seen.append(image), sent.append(command)
    return np.array(seen), np.array(sent)


@pytest.mark.parametrize("name", OWN_FAULTS)
def test_each_fault_does_something_and_every_time_the_same(name):
    (seen, sent), again = play(name), play(name)
    assert np.array_equal(seen, again[0]) and np.array_equal(sent, again[1])
    assert seen.dtype == np.uint8 and seen.shape == (FRAMES, 30, 40, 3) and np.abs(sent).max() <= 1.0
    base = np.random.default_rng(0).integers(0, 256, (30, 40, 3)).astype(np.uint8)
    plain = np.array([np.roll(base, tick, axis=1) for tick in range(FRAMES)])
    commands = np.array([(0.5 * np.sin(tick / 8.0), 0.4) for tick in range(FRAMES)])
    changes = not np.array_equal(seen, plain), not np.array_equal(sent, commands)
    assert changes == (OWN_FAULTS[name].kind in CLASSES[:3], OWN_FAULTS[name].kind in CLASSES[3:])


def test_at_least_twenty_in_all_classes_and_none_was_learnt_from():
    assert len(OWN_FAULTS) >= 20 and {fault.kind for fault in OWN_FAULTS.values()} == set(CLASSES)
    assert not set(OWN_FAULTS) & (set(D_AUG_DRIVEN) | set(PROTOCOLS))


def drive(name, governor, left=-1, danger=-1, stopped=-1, step_m=0.06, seed=0):
    path = [(step_m * number, 0.0) for number in range(30)]
    outcome = {"left_lane_at": left, "danger_at": danger, "stopped_at": stopped, "frames": 30, "distance_m": 1.0}
    case = {"track": "loop", "protocol": name, "severity": 3, "seed": seed, "governor": governor, "begin": 0}
    return {"case": case, "outcome": outcome, "path": path}


def test_the_table_counts_pairs_and_says_what_no_alarm_could_save():
    pairs = [(1, (25, -1), (-1, 2, 4)), (2, (4, -1), (4, 5, 6)), (3, (-1, -1), (-1, 3, 9)), (4, (-1, -1), (-1, -1, -1))]
    drives = []
    for seed, (left, danger), ours in pairs:
        drives += [drive("servo_stuck", OFF, left, danger, seed=seed), drive("servo_stuck", OURS, *ours, seed=seed)]
    drives += [drive("", OFF), drive("", OURS)]
    row = next(row for row in class_rows(drives) if row["class"] == ACTUATOR)
    assert (row["left_without"], row["left_with"], row["drives"]) == (2, 1, 4)
    assert (row["danger_before"], row["a_second_before"], row["median_lead_s"]) == (1, 1, 1.15)
    assert (row["beyond_the_limit"], row["foreseeable_left_with"]) == (1, 0), "four frames: less way than a brake takes"
    assert (row["needless_stops"], row["stays"]) == (1, 2)
    assert class_rows(drives)[-1] == {**row, "class": "all"}
    assert "| actuator (1) | 2 -> 1 of 4 | 1 (1) | 1.15 | 1 | 0 of 1 | 1 of 2 |" in class_markdown(drives)
    assert "0 of 1 stopped, 0.0 % of the time lost" in class_markdown(drives)
