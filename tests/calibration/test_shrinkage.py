"""Shrinkage: its formula by hand, and the loss it is fitted by with its gradient."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from donkey_aicc.calibration.shrinkage import Shrinkage, _Problem


def test_confidence_is_the_mean_of_p_and_one_half_weighted_by_the_scores():
    calibrator = Shrinkage()
    calibrator.load_parameters({"weights": {"rho": 1.0, "delta": 2.0}, "offset": -1.0})
    scores = {"rho": np.array([0.0, 1.0]), "delta": np.array([0.0, 0.5])}
    alpha = 1.0 / (1.0 + np.exp([1.0, -1.0]))
    assert calibrator.calibrate(np.array([0.9, 0.9]), scores, 5) == pytest.approx((1 - alpha) * 0.9 + alpha * 0.5)
    assert calibrator.parameters() == {"weights": {"rho": 1.0, "delta": 2.0}, "offset": -1.0}


def test_the_loss_is_the_mean_nll_of_known_labels_and_its_gradient_is_right():
    rng = np.random.default_rng(0)
    p, labels = rng.uniform(0.05, 0.95, (40, 2)), (rng.random((40, 2)) < 0.5).astype(float)
    labels[:5, 0] = np.nan
    scores, parameters = rng.random((40, 2)), np.array([0.7, 1.3, -0.5])
    problem = _Problem(p, labels, scores)
    alpha = 1.0 / (1.0 + np.exp(-(scores @ parameters[:2] + parameters[2])))[:, None]
    given = (1 - alpha) * p + alpha / 2
    known = ~np.isnan(labels)
    wanted = -np.log(np.where(labels > 0.5, given, 1 - given))[known].mean()
    loss, gradient = problem(parameters)
    assert loss == pytest.approx(wanted)
    assert gradient == pytest.approx(approx_fprime(parameters, lambda x: problem(x)[0], 1e-6), abs=1e-5)
