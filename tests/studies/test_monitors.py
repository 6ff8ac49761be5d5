"""Monitors of others beside our alarm: the same episodes, the same nominal cost."""

from dataclasses import replace

import numpy as np
import pytest

from studies.governor.monitors import MONITORS, OURS, Seen, compare, faulty_episodes, markdown, nominal_episodes
from tests.alarm.alarm_tables import alarm_table


def seen(rng, drives, *, fault=0.0, blind=()):
    """Every score is 1 with a little noise, and higher by `fault` from frame 200 on, but those that are `blind`."""
    table = alarm_table(rng, drives, 370, horizons=(1, 5, 20), dark=(200, 370) if fault else None, departs_after=100)
    rows = np.tile(np.arange(370) >= 200, drives) * fault
    table = replace(
        table,
        valid=np.tile(np.arange(370) >= 20, drives),
        index=np.tile(np.arange(370), drives),
        severity=(rows > 0).astype(np.int64),
        mc_dropout=(1.0 + rows[:, None] + 0.1 * rng.random((len(table), 3))).astype(np.float32),
        p_safe=np.full((len(table), 3), 0.5, dtype=np.float32),
    )
    columns = {
        name: 1.0 + 0.1 * rng.random(len(table)) + (0.0 if name in blind else rows)
        for name in ("alarm", "novelty", "disagreement")
    }
    return Seen(table, **columns)


def test_who_sees_the_fault_announces_it_and_who_needs_two_doubts_needs_both():
    rng = np.random.default_rng(0)
    nominal, test = seen(rng, 60), seen(rng, 10)
    rows = {row["monitor"]: row for row in compare(nominal, test, {"dark": seen(rng, 6, fault=2.0, blind=("disagreement",))})}
    assert set(rows) == set(MONITORS)
    for name in (OURS, "band in time (FAIL-Detect)", "dropout of the predictor"):
        assert rows[name]["auroc"] == 1.0 and rows[name]["announced"] == rows[name]["departures"] == 6, name
        assert 4.0 < rows[name]["median_lead_s"] <= 5.0  # the car leaves its lane five seconds after the fault begins
    for name in ("disagreement of pilots", "novel and undecided (FIPER)", "predictor's 1 - p"):
        assert rows[name]["announced"] < 6 and rows[name]["auroc"] < 0.9, name
    assert all(row["promise"] == pytest.approx(0.01, abs=1e-3) for row in rows.values())
    text = markdown(list(rows.values()), {OURS: 4.2})
    assert "| our alarm | 1.000 (1.00-1.00) | 6 of 6 |" in text and "| 4.2 |" in text


def test_episodes_end_with_the_departure_and_one_that_begins_outside_is_none():
    rng = np.random.default_rng(1)
    faulty = seen(rng, 2, fault=1.0).table
    assert [(len(each.rows), each.departs) for each in faulty_episodes(faulty)] == [(100, True)] * 2
    outside = replace(faulty, departed=np.ones(len(faulty), dtype=np.float32))
    assert faulty_episodes(outside) == []
    calm = seen(rng, 2).table
    assert [len(each.rows) for each in nominal_episodes(calm)] == [170] * 4
    assert nominal_episodes(replace(calm, departed=np.ones(len(calm), dtype=np.float32))) == []
