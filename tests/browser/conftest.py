"""One browser per file of tests here; without Chromium or playwright they are skipped."""

import pytest

from tests.browser import chromium


@pytest.fixture(scope="module")  # not longer: playwright keeps an event loop open, and other tests have theirs
def browser():
    pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")
    if chromium.chromium_path() is None:
        pytest.skip(f"no Chromium here (looked for {', '.join(chromium.COMMANDS)}): apt install chromium")
    with chromium.started() as found:
        yield found


@pytest.fixture
def tab(browser):
    found = chromium.Tab(browser)
    yield found
    found.close()
