"""The small score tables and results of the evaluation serve the study's pages too, with what the study adds."""

import pytest

from donkey_aicc.evaluation.methods_and_conditions import evaluated_conditions
from donkey_aicc.scoring.score_table import concatenate
from studies.early_warning import Driving
from studies.evaluation_stage import add_imagined
from studies.imagined_rows import ImaginedTable
from studies.study_evaluation import evaluate_study
from studies.study_report import NOT_MEASURED
from tests.evaluation import conftest as of_evaluation

tables = of_evaluation.tables  # a fixture


@pytest.fixture(scope="session")
def imagined(tables) -> ImaginedTable:
    """Every tenth frame of the evaluated drives; the prediction is the direct one turned round, so AUROCs add up to 1."""
    drives = concatenate([tables.test, *tables.ood.values()])
    drives = drives.select(drives.step % 10 == 0)
    return ImaginedTable(drives.horizons, drives.sequence, drives.step, 1.0 - drives.p_safe)


@pytest.fixture(scope="session")
def results(tables, imagined):
    """Two splits, so that tests stay fast."""
    driving = Driving(0.25, 20.0, 100.0)
    found = evaluate_study(*tables, seeds=2, draws=100, lambdas=(1e-6, 1e-2), driving=driving)
    found["runtime"] = NOT_MEASURED
    add_imagined(found, imagined, evaluated_conditions(tables.test, tables.ood))
    return found
