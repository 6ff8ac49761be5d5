"""One small nominal table, one augmented table of three families and their pool, shared by the calibrator tests."""

import numpy as np
import pytest

from donkey_aicc.calibration.pool import Pool, build_pool
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from tests.synthetic_scores import synthetic_table


@pytest.fixture(scope="session")
def nominal() -> ScoreTable:
    return synthetic_table(np.random.default_rng(0), sequences=10, length=250, warm_up=20)


@pytest.fixture(scope="session")
def augmented() -> ScoreTable:
    rng = np.random.default_rng(1)
    families = (("fog", (1.5, 0.5)), ("frost", (1.0, 1.0)), ("speed_mismatch", (0.5, 1.5)))
    return concatenate(
        [
            synthetic_table(rng, sequences=4, length=250, shift=1.0, weights=weights, protocol=name, severity=3)
            for name, weights in families
        ]
    )


@pytest.fixture(scope="session")
def pool(nominal: ScoreTable, augmented: ScoreTable) -> Pool:
    return build_pool(nominal, augmented, seed=3)
