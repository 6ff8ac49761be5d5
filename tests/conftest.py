"""Shared test set-up: one torch thread, so that parallel test workers do not spin against each other; the longest tests first."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest  # noqa: E402

from donkey_aicc.calibration.catalogue import OWN_ROWS  # noqa: E402
from donkey_aicc.faults.protocols import D_AUG_DRIVEN, FAULTS  # noqa: E402
from donkey_aicc.nets.own_predictor import OWN_PREDICTORS  # noqa: E402
from donkey_aicc.scoring.own_scores import OWN_SCORES  # noqa: E402

REGISTRIES = (OWN_ROWS, OWN_PREDICTORS, OWN_SCORES, FAULTS, D_AUG_DRIVEN)


@pytest.fixture
def own_registries():
    """What somebody's own code may add to; what a test adds is gone afterwards."""
    before = [dict(each) for each in REGISTRIES]
    yield REGISTRIES
    for each, kept in zip(REGISTRIES, before, strict=True):
        each.clear()
        each.update(kept)


def pytest_collection_modifyitems(items):
    """The tiny experiment takes minutes: started last, it would keep one worker busy while the other has nothing left to do."""
    items.sort(key=lambda item: "test_tiny_experiment" not in item.nodeid)
