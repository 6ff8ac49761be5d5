"""The files of a report: the page holds every table, and page, CSV and JSON say the same."""

import csv
import json
import re

import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.evaluation.figures.style import common_look, method_colour, save_figure
from donkey_aicc.evaluation.html_page import SECTIONS, render_table
from donkey_aicc.evaluation.methods_and_conditions import methods
from donkey_aicc.evaluation.report import FIGURES, write_report
from donkey_aicc.evaluation.result_tables import all_tables
from donkey_aicc.evaluation.tables import LOWER, NONE_PUBLISHED, Column, Row, Table, Value


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(results, folder)
    return folder


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_results_json_holds_the_results(report, results):
    assert json.loads((report / "results.json").read_text(), parse_constant=pytest.fail) == results


def test_csv_equals_json(report, results):
    rows = {row["method"]: row for row in rows_of(report / "tables" / "calibration.csv")}
    assert len(rows) == len(methods())
    for name, one in results["calibration"].items():
        assert float(rows[one["label"]]["ood_ece"]) == one["ece"]["ood_mean"]["mean"], name
        assert float(rows[one["label"]]["nominal_nll"]) == one["nll"]["nominal"]["mean"], name
        assert float(rows[one["label"]]["ood_ece_std"]) == one["ece"]["ood_mean"]["std"], name
    detection = {row["score"]: row for row in rows_of(report / "tables" / "ood_detection.csv")}
    assert float(detection["rho"]["dark"]) == results["ood_detection"]["rho"]["dark"]["mean"]


def test_a_users_report_has_the_users_numbers_only(report):
    """Nobody asked for another car's results; the study puts them in."""
    page = (report / "index.html").read_text()
    assert 'class="paper' not in page and ">paper<" not in page and "another car" not in page
    assert not any("paper" in path.read_text().splitlines()[0] for path in (report / "tables").iterdir())


def test_page_contains_every_table_and_figure_and_nothing_from_outside(report, results):
    page = (report / "index.html").read_text()
    tables = all_tables(results)
    for table in tables:
        assert f'id="table-{table.name}"' in page and (report / "tables" / f"{table.name}.csv").is_file()
    for figure in FIGURES:
        assert f'id="figure-{figure.name}"' in page
        assert (report / "figures" / f"{figure.name}.png").is_file() and (report / "figures" / f"{figure.name}.svg").is_file()
    for statement in results["summary"]:
        assert statement["text"].split("(")[0].replace("'", "&#39;") in page
    assert not re.search(r'(src|href)="(?!#|data:)', page) and page.count("<script>") == page.count("<script") == 1
    assert 'name="viewport"' in page and "prefers-color-scheme: dark" in page


def test_every_table_and_figure_has_its_place_on_the_page(results):
    placed = ["fig:answer"] + [name for section in SECTIONS for name in section.content + section.folded]
    wanted = [table.name for table in all_tables(results)] + [f"fig:{figure.name}" for figure in FIGURES]
    assert sorted(placed) == sorted(wanted)
    assert all(re.fullmatch("#[0-9a-f]{6}", method_colour(name)) for name in methods())


def test_the_same_results_give_the_same_figure(report, results, tmp_path):
    overview = FIGURES[0]
    with common_look():
        save_figure(overview.draw(results, NONE_PUBLISHED), tmp_path, overview.name)
    for suffix in ("png", "svg"):
        name = f"{overview.name}.{suffix}"
        assert (tmp_path / name).read_bytes() == (report / "figures" / name).read_bytes()


def test_best_value_is_bold_and_controls_do_not_compete():
    rows = [
        Row("a", {"x": Value(0.2, 0.01)}),
        Row("b", {"x": Value(0.3)}, strong=True),
        Row("control", {"x": Value(0.1)}, group="Controls", ranked=False),
        Row("empty", {"x": Value(reason="one class <only>")}),
    ]
    table = Table("t", "T & t", [Column("x", "X", better=LOWER), Column("x_paper", "paper", paper=True)], rows)
    html = render_table(table)
    assert '<td class="best">0.200 <small>±0.010</small></td>' in html
    assert html.count("best") == 1 and "T &amp; t" in html
    assert "empty: one class &lt;only&gt;" in html
    many = [Row(f"row {number}", {"x": Value(reason="too short"), "y": Value(reason="too short")}) for number in range(6)]
    crowded = render_table(Table("t", "T", [Column("x", "X"), Column("y", "Y")], many))
    assert crowded.count("too short") == 1 and "row 0, row 1 and 4 others: too short" in crowded
    assert table.to_csv().splitlines()[0] == "method,group,x,x_std,x_paper"


def test_a_file_in_place_of_the_folder_is_refused(results, tmp_path):
    (tmp_path / "report").write_text("mine")
    with pytest.raises(AiccError, match="is a file"):
        write_report(results, tmp_path / "report")
