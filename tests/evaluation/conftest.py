"""Small score tables from a known model: anomalies make the predictor as overconfident as rho and delta say."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from donkey_aicc.calibration.pool import augmented_id
from donkey_aicc.evaluation.study import evaluate
from donkey_aicc.scoring.score_table import ScoreTable, concatenate
from tests.synthetic_scores import synthetic_table

HORIZONS = (1, 5, 10)
WEIGHTS = (1.6, 1.2)
LENGTH = 110


class Tables(NamedTuple):
    calibration: ScoreTable
    augmented: ScoreTable
    test: ScoreTable
    ood: dict[str, ScoreTable]


def table(rng: np.random.Generator, **options) -> ScoreTable:
    return synthetic_table(rng, length=LENGTH, horizons=HORIZONS, cnn_width=4, warm_up=10, **options)


def anomalous(rng: np.random.Generator, name: str, severity: int, sequences: int, prefix: str = "") -> ScoreTable:
    return table(
        rng,
        sequences=sequences,
        shift=severity / 2,
        weights=WEIGHTS,
        protocol=name,
        severity=severity,
        prefix=f"{prefix}{severity}",
    )


def make_tables(seed: int = 0) -> Tables:
    rng = np.random.default_rng(seed)
    calibration = table(rng, sequences=5, prefix="cal")
    pieces = []
    for family in ("fog", "jpeg", "speed_mismatch"):
        for severity in (1, 2):
            made = anomalous(rng, family, severity, sequences=5)
            copies = dict(zip(made.sequences(), calibration.sequences(), strict=True))
            ids = np.array([augmented_id(copies[name], family, severity) for name in made.sequence])
            pieces.append(replace(made, sequence=ids))
    ood = {name: concatenate([anomalous(rng, name, severity, 3) for severity in (1, 2)]) for name in ("dark", "bias")}
    for name, odd in ood.items():  # what a real recording has around the injected part
        calm = odd.step < 20
        ood[name] = replace(odd, protocol=np.where(calm, "", odd.protocol), severity=np.where(calm, 0, odd.severity))
    return Tables(calibration, concatenate(pieces), table(rng, sequences=4, prefix="test"), ood)


@pytest.fixture(scope="session")
def tables() -> Tables:
    return make_tables()


@pytest.fixture(scope="session")
def results(tables):
    """Two splits, so that tests stay fast."""
    return evaluate(*tables, seeds=2, draws=100)
