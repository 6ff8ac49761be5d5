"""A tub without labels: refused at once by plain training, good for scores and alarm with --no-labels."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from donkey_aicc.calibration.calibrating import fit_scores_only
from donkey_aicc.calibration.calibrator_file import fitted_grades, load_calibrator
from donkey_aicc.commands.info import describe
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.manifest import NO_PREDICTOR
from donkey_aicc.scoring.parallel import score_drives
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.training.frames import FramePool
from donkey_aicc.training.pipeline import Plan, train_bundle
from donkey_aicc.training.presets import preset_named
from donkey_aicc.training.train_camera_nets import label_weights, masked_bce


@pytest.fixture(scope="module")
def unlabelled(drives):
    return [replace(one, safe=np.full(len(one), np.nan, np.float32)) for one in drives]


@pytest.fixture(scope="module")
def bundle(unlabelled, tmp_path_factory):
    torch.set_num_threads(1)
    preset, overrides = preset_named("tiny", ["vae.epochs=1", "dynamics.epochs=1"])
    plan = Plan(preset, tmp_path_factory.mktemp("bare") / "b", overrides, horizons=(1, 5), device="cpu", predictor=NO_PREDICTOR)
    train_bundle(unlabelled, plan)
    return Bundle.load(plan.out)


def test_plain_training_says_what_to_do_before_it_starts(unlabelled, tmp_path):
    plan = Plan(preset_named("tiny")[0], tmp_path / "b", horizons=(1, 5), device="cpu")
    with pytest.raises(AiccError, match="donkey-aicc label TUB"):
        train_bundle(unlabelled, plan)
    assert not list(tmp_path.iterdir())


def test_the_bundle_says_that_it_has_no_predictor(bundle):
    assert not bundle.has_predictor and "safety.safetensors" not in bundle.manifest.files
    assert "no p_safe, no confidence" in describe(bundle.path, bundle.manifest)
    with pytest.raises(AiccError, match="has no safety predictor"):
        bundle.predict(np.zeros((1, 3, 64, 64)))


def test_scores_have_a_scale_and_confidence_is_refused(bundle, unlabelled):
    settings = ScoreSettings(samples=2, rollout_steps=2, rollout_every=2, context=6)
    table = score_drives(bundle, unlabelled[:3], settings=settings)
    assert np.isnan(table.p_safe).all() and np.isfinite(table.rho_raw[table.valid.astype(bool)]).all()
    fit_scores_only(bundle, table, settings)
    assert fitted_grades(bundle) == ("full", "half", "light")
    calibrator = load_calibrator(bundle)
    assert {"rho", "delta", "log_rho"} <= set(calibrator.statistics.scores(table))
    with pytest.raises(AiccError, match="without labels"):
        calibrator.predict(table)


def test_unsure_labels_count_less(drives):
    certain = np.ones(24, dtype=np.float32)
    certain[:12] = 0.5
    pool = FramePool([replace(drives[0], certainty=certain)])
    assert label_weights(pool, (1,))[:, 0].tolist() == [0.0] * 11 + [1.0] * 12 + [0.0]
    logits, labels = torch.tensor([[2.0], [-2.0]]), torch.tensor([[1.0], [1.0]])
    assert masked_bce(logits, labels, torch.tensor([[1.0], [0.0]])) < masked_bce(logits, labels)
