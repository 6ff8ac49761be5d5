"""The small world of the scoring tests serves the timings too."""

from tests.scoring.conftest import bundle, drive, nets  # noqa: F401
