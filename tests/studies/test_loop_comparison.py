"""Closed against open loop on made-up scores: what is put in comes out, as numbers, sentences, tables and a figure."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.scoring.score_table import concatenate
from studies.all_runs import read_runs
from studies.loop_comparison import Loops, compare_loops
from studies.loop_figure import draw_loops
from studies.loop_tables import loop_tables, read_open_loop
from studies.results_page import headline_page, results_page
from tests.synthetic_scores import synthetic_table

FRAMES, ONSET, DRIVES = 140, 100, 4
RESULTS = Path(__file__).resolve().parents[2] / "studies" / "results"


def drives(rng, name, length=FRAMES):
    table = synthetic_table(rng, sequences=DRIVES, length=length, horizons=(1, 5), cnn_width=4, warm_up=ONSET)
    number = np.repeat([f"{n:02d}" for n in range(DRIVES)], length)
    return replace(table, sequence=np.char.add(f"{name}_", number))


def under(table, fault, severity, rho=0.0, delta=0.0):
    """The table with the fault from ONSET on, and the shift it gives to rho and to one feature of delta."""
    odd = table.step >= ONSET
    features = table.features.copy()
    features[odd, 7] += delta
    return replace(
        table,
        protocol=np.where(odd, fault, ""),
        severity=np.where(odd, severity, 0),
        rho_raw=table.rho_raw + 1e-3 * rho * odd,
        features=features,
        cte=table.cte + 0.3 * (rho > 0),
    )


def make_results(rho, delta):
    rng = np.random.default_rng(0)
    calibration, test = (synthetic_table(rng, sequences=3, horizons=(1, 5), cnn_width=4, prefix=name) for name in "ab")
    plain = {name: drives(rng, name) for name in ("bias_s1", "bias_s5", "latency_s1")}
    closed = [under(plain[name], name.split("_")[0], int(name[-1]), rho, delta) for name in plain]
    opened = [under(plain[name], name.split("_")[0], int(name[-1]), 0.0, 8.0) for name in plain]
    tables = Loops(nominal=drives(rng, "nominal"), closed=concatenate(closed), open=concatenate(opened))
    return compare_loops(calibration, test, tables, FRAMES, {"frames": FRAMES, "warm_up_frames": ONSET}, draws=200)


@pytest.fixture(scope="module")
def compared():
    return make_results(rho=1.0, delta=8.0)


def test_rho_sees_only_what_the_loop_carries_into_the_picture(compared):
    cell = compared["faults"]["bias"]["severities"]["5"]
    assert cell["frames"] == DRIVES * (FRAMES - ONSET) and cell["departures"] == 0
    assert cell["closed"]["scores"]["rho"]["auroc"] > 0.99 and abs(cell["open"]["scores"]["rho"]["auroc"] - 0.5) < 0.1
    assert min(cell[loop]["scores"]["delta"]["auroc"] for loop in ("closed", "open")) > 0.99
    assert cell["closed_minus_open"]["rho"]["low"] > 0.3
    assert cell["open"]["most_shifted"] == "jerk" and cell["closed"]["mean_abs_cte_m"] > cell["open"]["mean_abs_cte_m"]
    assert abs(compared["without_fault"]["scores"]["delta"]["auroc"] - 0.5) < 0.1


def test_the_answer_follows_from_the_numbers(compared):
    assert "under Bias and Command delay the loop closes the gap" in compared["conclusion"][-1]
    assert "narrows the gap" in make_results(rho=0.1, delta=8.0)["conclusion"][-1]
    assert "leaves the gap open" in make_results(rho=0.0, delta=8.0)["conclusion"][-1]


def test_the_same_tables_give_the_same_numbers_without_nan(compared):
    assert json.dumps(make_results(rho=1.0, delta=8.0), allow_nan=False) == json.dumps(compared, allow_nan=False)


def test_tables_and_figure_show_every_fault_and_severity(compared):
    found = loop_tables(compared)
    assert [(row.group, row.label) for row in found[1].rows][1:] == [("Bias", "1"), ("Bias", "5"), ("Command delay", "1")]
    assert (
        found[0].rows[2].values["rho_closed"].number
        == compared["faults"]["bias"]["severities"]["5"]["closed"]["scores"]["rho"]["auroc"]
    )
    assert len(draw_loops(compared).axes) == 8


def test_the_results_pages_have_the_comparison_when_there_is_one(compared):
    runs = read_runs(RESULTS)
    for page in (results_page, headline_page):
        assert compared["conclusion"][-1] in page(runs, compared)
        assert compared["conclusion"][-1] not in page(runs)


def test_a_file_that_is_damaged_is_named(tmp_path):
    assert read_open_loop(tmp_path) is None
    (tmp_path / "open_loop.json").write_text("{")
    with pytest.raises(AiccError, match=r"open_loop\.json cannot be read"):
        read_open_loop(tmp_path)


def test_loops_must_hold_the_same_frames():
    table = drives(np.random.default_rng(0), "bias_s1", 110)
    with pytest.raises(AiccError, match="same frames"):
        Loops(table, table, table.select(table.step < 50))
