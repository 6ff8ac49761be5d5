"""The second predictor kind: the same frames for both, and one more group of rows in table, page and results page."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.html_page import render_table
from donkey_aicc.evaluation.methods_and_conditions import evaluated_conditions
from donkey_aicc.evaluation.metrics import auroc, ece_top_label
from donkey_aicc.evaluation.result_tables import base_predictor_table
from studies.all_runs import read_runs
from studies.imagined_rows import ImaginedTable, compare_imagined, said_of_imagined, with_imagined_rows
from studies.results_page import results_page

RESULTS = Path(__file__).resolve().parents[2] / "studies" / "results"


def test_both_predictors_are_measured_on_the_frames_that_have_both(results, tables):
    dark = tables.ood["dark"]
    rows = dark.select(dark.valid & (dark.protocol == "dark") & (dark.step % 10 == 0))
    found = results["imagined"]["dark"]
    assert list(results["imagined"]) == ["nominal", "dark", "bias"]
    assert found["frames"] == len(rows) == 6 * 9
    column = rows.horizons.tolist().index(5)
    wanted = auroc(rows.p_safe[:, column], rows.labels[:, column]).value
    assert found["direct"]["auroc"]["5"]["value"] == pytest.approx(wanted, abs=1e-5)
    assert found["imagined"]["auroc"]["5"]["value"] == pytest.approx(1.0 - wanted, abs=1e-5)
    ece = ece_top_label(1.0 - rows.p_safe[:, column], rows.labels[:, column]).value
    assert found["imagined"]["ece"]["5"]["value"] == pytest.approx(ece, abs=1e-5)


def test_a_condition_without_imagined_frames_says_why_it_has_no_number(imagined, tables):
    only_test = np.isin(imagined.sequence, tables.test.sequences())
    few = replace(imagined, **{name: getattr(imagined, name)[only_test] for name in ("sequence", "step", "p")})
    found = compare_imagined(few, evaluated_conditions(tables.test, tables.ood))["dark"]
    assert found["frames"] == 0 and found["imagined"]["auroc"]["mean"]["value"] is None
    assert found["imagined"]["auroc"]["5"]["reason"]


def test_predictions_of_another_bundle_are_refused(imagined, tables):
    other = replace(imagined, horizons=np.array([1, 5, 15]))
    with pytest.raises(AiccError, match="mixed bundles"):
        compare_imagined(other, evaluated_conditions(tables.test, tables.ood))


def test_the_rows_stand_in_the_predictor_table_of_page_csv_and_results_page(results):
    table = with_imagined_rows(base_predictor_table(results), results["imagined"])
    groups = [row.group for row in table.rows]
    assert list(dict.fromkeys(groups)) == ["Direct, all frames", "Imagined frame, classified", "Direct, the same frames"]
    assert all(groups.count(group) == 3 for group in groups)
    stored = results["imagined"]["dark"]["imagined"]
    row = next(row for row in table.rows if row.group.startswith("Imagined") and row.label == "Dark")
    assert row.values["k_5"].number == stored["auroc"]["5"]["value"]
    assert row.values["ece"].number == stored["ece"]["mean"]["value"]
    assert "Imagined frame, classified" in render_table(table) and "Imagined frame, classified" in table.to_csv()
    assert "| *Imagined frame, classified* |" in results_page(read_runs(RESULTS))
    assert any("world model imagines" in statement["text"] for statement in results["summary"])


def test_results_without_it_lack_the_rows_and_nothing_else(results):
    table = base_predictor_table(results)
    assert with_imagined_rows(table, {}) is table and [row.label for row in table.rows] == ["Nominal", "Dark", "Bias"]
    assert said_of_imagined({}) is None and said_of_imagined({"nominal": results["imagined"]["nominal"]}) is None
    few = json.loads(json.dumps(results["imagined"]))
    few["dark"]["direct"]["auroc"]["mean"]["value"] = None
    assert said_of_imagined(few) is None


def test_the_file_comes_back(imagined, tmp_path):
    imagined.save(tmp_path / "imagined.npz")
    assert np.array_equal(ImaginedTable.load(tmp_path / "imagined.npz").p, imagined.p)
