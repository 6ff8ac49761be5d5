"""The results page says what results.json says."""

import json
from pathlib import Path

from donkey_aicc.evaluation.report import read_results
from studies.loop_tables import read_open_loop
from studies.repetitions import read_repetitions
from studies.results_page import results_page

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_results_page_is_the_one_make_results_writes():
    made = results_page(read_results(DOCS / "results"), read_open_loop(DOCS / "results"), read_repetitions(DOCS / "results"))
    assert (DOCS / "results.md").read_text(encoding="utf-8") == made, "run: make results"


def test_every_method_of_the_json_is_on_the_page():
    stored = json.loads((DOCS / "results" / "results.json").read_text(encoding="utf-8"))
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    labels = [method["label"] for method in stored["calibration"].values()]
    assert labels and all(f"| {label.replace('|', chr(92) + '|')} |" in page for label in labels)


def test_every_picture_of_the_page_is_there():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    pictures = [line.split("](")[1].rstrip(")") for line in page.splitlines() if line.startswith("![")]
    assert pictures and all((DOCS / picture).is_file() for picture in pictures)
