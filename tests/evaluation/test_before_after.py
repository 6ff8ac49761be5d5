"""The picture that `donkey-aicc calibrate` leaves beside the calibrator."""

from dataclasses import replace

import numpy as np

from donkey_aicc.calibration.catalogue import make_calibrator
from donkey_aicc.calibration.pool import build_pool
from donkey_aicc.evaluation.figures.reliability_figures import draw_before_after
from tests.synthetic_scores import synthetic_table


def test_nominal_and_augmented_before_and_after(tmp_path):
    nominal = synthetic_table(np.random.default_rng(0), sequences=5, length=60)
    changed = synthetic_table(np.random.default_rng(1), sequences=5, length=60)
    pool = build_pool(nominal, replace(changed, protocol=np.full(len(changed), "fog")))
    draw_before_after(make_calibrator("temperature").fit(nominal), pool, tmp_path / "calibration.png")
    assert (tmp_path / "calibration.png").read_bytes().startswith(b"\x89PNG")
