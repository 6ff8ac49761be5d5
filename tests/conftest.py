"""Shared test set-up: one torch thread, so that parallel test workers do not spin against each other; the longest tests first."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_collection_modifyitems(items):
    """The tiny experiment takes minutes: started last, it would keep one worker busy while the other has nothing left to do."""
    items.sort(key=lambda item: "test_tiny_experiment" not in item.nodeid)
