"""The results page says what results.json says."""

import json
from pathlib import Path

from donkey_aicc.evaluation.report import read_results
from studies.loop_tables import read_open_loop
from studies.repetitions import read_repetitions
from studies.results_page import headline_page, results_page

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "studies" / "results"


def test_the_results_page_is_the_one_make_results_writes():
    results = read_results(RESULTS)
    made = results_page(results, read_open_loop(RESULTS), read_repetitions(RESULTS))
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == made, "run: make results"
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == headline_page(results), "run: make results"


def test_every_method_of_the_json_is_on_the_page():
    stored = json.loads((RESULTS / "results.json").read_text(encoding="utf-8"))
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    labels = [method["label"] for method in stored["calibration"].values()]
    assert labels and all(f"| {label.replace('|', chr(92) + '|')} |" in page for label in labels)


def test_every_picture_of_the_page_is_there():
    for path in (RESULTS / "README.md", ROOT / "docs" / "results.md"):
        page = path.read_text(encoding="utf-8")
        pictures = [line.split("](")[1].rstrip(")") for line in page.splitlines() if line.startswith("![")]
        assert pictures and all((path.parent / picture).is_file() for picture in pictures)
