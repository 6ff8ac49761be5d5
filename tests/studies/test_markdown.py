"""The results pages say what the results of the runs say."""

from pathlib import Path

import pytest

from studies.all_runs import REFERENCE, one_per_track, read_runs
from studies.governor.table import read_governor
from studies.grade_rows import read_times
from studies.loop_tables import read_open_loop
from studies.restored_page import restored_section
from studies.results_page import headline_page, results_page

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "studies" / "results"


@pytest.fixture(scope="module")
def runs():
    return read_runs(RESULTS)


def test_the_results_pages_are_the_ones_make_results_writes(runs):
    open_loop = read_open_loop(RESULTS)
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == results_page(runs, open_loop), "run: make results"
    page = headline_page(runs, open_loop, read_governor(RESULTS), read_times(RESULTS), restored_section(RESULTS))
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page, "run: make results"


def test_every_method_of_the_reference_run_is_on_the_page(runs):
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    labels = [method["label"] for method in runs[REFERENCE]["calibration"].values()]
    assert labels and all(f"| {label.replace('|', chr(92) + '|')} |" in page for label in labels)


def test_every_picture_of_the_page_is_there():
    for path in (RESULTS / "README.md", ROOT / "docs" / "results.md"):
        page = path.read_text(encoding="utf-8")
        pictures = [line.split("](")[1].rstrip(")") for line in page.splitlines() if line.startswith("![")]
        assert pictures and all((path.parent / picture).is_file() for picture in pictures)


def test_every_run_names_a_freeze_that_is_under_version_control(runs):
    from donkey_aicc.files import sha256_of

    assert next(iter(runs)) == REFERENCE and len(one_per_track(runs)) >= 1
    for name, results in runs.items():
        assert sha256_of(RESULTS / "frozen" / f"{name}.json") == results["about"]["frozen"], name
