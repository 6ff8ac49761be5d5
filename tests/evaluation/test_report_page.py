# ruff: noqa: F401, F811
"""The report of `evaluate` in a real browser: the answer first, tables that sort, on a phone and on paper."""

import numpy as np
import pytest

from donkey_aicc.evaluation.figures.fault_figures import fault_pictures
from donkey_aicc.evaluation.report import write_report
from donkey_aicc.tubs.drive import make_drive
from tests.browser.chromium import SIZES, Tab
from tests.browser.conftest import browser, tab  # fixtures

ROWS = "[...document.querySelectorAll('#table-calibration + .scroll tbody tr:not(.group)')]"
FIRST_COLUMN = f"{ROWS}.map((row) => row.cells[1].textContent)"


@pytest.fixture(scope="module")
def address(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    images = np.full((10, 64, 64, 3), 90, np.uint8)
    severity = np.repeat([1, 2, 3, 4, 5], 2)
    faulty = make_drive("d", "s", images, np.zeros((10, 2)), protocol=np.full(10, "dark"), severity=severity)
    write_report(results, folder, faults=fault_pictures([faulty], {"dark": [faulty]}))
    return f"file://{folder / 'index.html'}"


@pytest.mark.parametrize("size", SIZES)
def test_the_answer_is_on_the_first_screen_and_nothing_runs_out_of_it(browser, address, size):
    tab = Tab(browser, size, "dark" if size == "projector" else "light")
    tab.page.goto(address)
    width, height = SIZES[size][:2]
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    answer = tab.page.locator("p.answer").bounding_box()
    assert size == "phone_side" or answer["y"] + answer["height"] < height
    aside = "[...document.querySelectorAll('#answer .scroll, .tiles ul')].filter((box) => box.scrollWidth > box.clientWidth + 1)"
    assert tab.page.evaluate(f"{aside}.length") == 0 and tab.page.locator(".tiles img").count() == 6
    assert tab.page.locator("#answer .numbers li").count() == 4 and tab.page.locator("#answer figure").count() == 1
    assert tab.complaints == [] and (size != "phone" or tab.accessibility_faults() == [])
    assert {url.split(":")[0] for url in tab.asked} <= {"file", "data"}
    tab.close()


def test_a_click_on_a_heading_sorts_and_the_third_puts_it_back(tab, address):
    tab.page.goto(address)
    given = tab.page.evaluate(FIRST_COLUMN)
    heading = tab.page.locator("#table-calibration + .scroll thead button").nth(1)
    heading.click()
    rising = tab.page.evaluate(FIRST_COLUMN)
    heading.click()
    falling = tab.page.evaluate(FIRST_COLUMN)
    heading.click()
    numbers = [float(text.split()[0]) for text in rising if text[:1].isdigit()]
    assert len(numbers) > 3 and numbers == sorted(numbers) and falling != rising and tab.page.evaluate(FIRST_COLUMN) == given


def test_on_paper_no_table_is_wider_than_the_sheet_and_no_row_or_figure_is_cut(tab, address):
    tab.page.goto(address)
    tab.page.emulate_media(media="print")
    # a button with a box of its own is missing from the heads that Chromium repeats on the next sheet
    boxes = "[...document.querySelectorAll('thead button')].map(b => getComputedStyle(b).display)"
    assert set(tab.page.evaluate(boxes)) == {"contents"}
    tab.page.set_viewport_size({"width": 1039, "height": 700})  # A4 on its side without the margins, in CSS pixels
    wide = "[...document.querySelectorAll('table, figure img')].filter((each) => each.scrollWidth > 1039).length"
    assert tab.page.evaluate(wide) == 0
    kept = "[...document.querySelectorAll('tbody tr, figure')].every((each) => getComputedStyle(each).breakInside === 'avoid')"
    assert tab.page.evaluate(kept)
    assert tab.page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
