"""The small score tables and results of the evaluation serve the study's pages too."""

from tests.evaluation.conftest import imagined, results, tables  # noqa: F401
