"""The number and the reasons of recorded drives, in two tables."""

from dataclasses import replace

import numpy as np

from studies.governor.dial import ToldDrive, conditions, number_row, number_table, reason_table


def told(fault="dark", left_at=-1, stays=(1.0,) * 40, reason="the picture is much darker than in training"):
    departs = np.zeros(len(stays))
    if left_at >= 0:
        departs[-20:] = 1.0
    return ToldDrive(fault, 3 if fault else 0, np.array(stays), 1.0 - np.array(stays), departs, left_at, reason)


def test_a_dial_that_falls_a_second_before_is_in_time_and_a_later_or_shaky_one_is_not():
    early = told(left_at=60, stays=(1.0,) * 35 + (0.4,) * 25)
    late = told(left_at=60, stays=(1.0,) * 45 + (0.4,) * 15)
    shaky = told(left_at=60, stays=(1.0,) * 30 + (0.4,) * 20 + (0.95,) * 5 + (0.4,) * 5)
    row = number_row([early, late, shaky, told()], 20.0)
    assert (row["drives"], row["left"], row["in_time"]) == (4, 3, 1)
    assert row["lead"] == 0.75
    assert number_row([told("", reason="")], 20.0)["jump"] == 0.0
    assert "| dark | 4 | 3 |" in number_table({"dark": row})


def test_a_reason_is_right_when_it_names_the_kind_of_the_fault():
    repeats = "the camera repeats old frames: 0.3 s of the last 0.5 s"
    drives = [told(), replace(told(), reason=repeats), replace(told(), reason="")]
    table = reason_table([*drives, told("latency", reason="the picture follows the steering late")])
    assert "| dark | 1 | 1 |" in table and "| 1 of 2 |" in table
    assert "| latency |  | 1 |" in table and "| 1 of 1 | the picture follows the steering late |" in table


def test_rows_are_of_nominal_drives_protocols_and_the_others():
    found = conditions([told(""), told(), told("fog"), replace(told("latency"), severity=1)])
    assert {name: len(drives) for name, drives in found.items()} == {
        "nominal": 1,
        "dark": 1,
        "latency": 1,
        "these, severities 3-5": 1,
        "faults of D_aug": 1,
    }
