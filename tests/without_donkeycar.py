"""Plugin of `make test-next`: a test that fails because donkeycar is not installed counts as skipped."""

import pytest

MISSING = "No module named 'donkeycar"
REASON = "needs donkeycar"


def _skip(report: pytest.CollectReport | pytest.TestReport) -> None:
    if report.failed and MISSING in f"{report.longreprtext}{report.capstdout}{report.capstderr}":
        report.outcome = "skipped"
        report.longrepr = (report.nodeid, 0, REASON)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    _skip(report)
    return report
