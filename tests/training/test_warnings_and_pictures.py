from dataclasses import replace

import numpy as np
import pytest
import torch

from donkey_aicc.errors import AiccError
from donkey_aicc.training.warnings_and_pictures import calibration_warnings, data_warnings, require_labels, vae_warnings


def warned(warnings, text):
    return any(text in warning for warning in warnings)


def test_one_class_only(drives):
    safe = [replace(sequence, safe=np.ones(len(sequence), dtype=np.float32)) for sequence in drives]
    with pytest.raises(AiccError, match="every labelled training frame is safe"):
        require_labels(safe)
    unsafe = [replace(sequence, safe=np.zeros(len(sequence), dtype=np.float32)) for sequence in drives]
    with pytest.raises(AiccError, match="every labelled training frame is unsafe"):
        require_labels(unsafe)
    require_labels(drives)
    assert not warned(data_warnings(drives), "one class")


def test_a_rare_class(drives):
    labels = np.ones(24, dtype=np.float32)
    rare = [replace(sequence, safe=labels.copy()) for sequence in drives]
    rare[0].safe[0] = 0.0
    assert warned(data_warnings(rare), "one class is rare: 99.5 %")


def test_no_labels_at_all(drives):
    bare = [replace(sequence, safe=np.full(len(sequence), np.nan, dtype=np.float32)) for sequence in drives]
    with pytest.raises(AiccError, match="donkey-aicc label TUB .* --no-labels"):
        require_labels(bare)


def test_ten_answers_are_too_few_to_train_on(drives):
    few = [replace(sequence, safe=np.full(len(sequence), np.nan, dtype=np.float32)) for sequence in drives]
    few[0].safe[:4], few[1].safe[:6] = 0.0, 1.0
    assert warned(data_warnings(few), f"few labels: 10 of {sum(map(len, few))} training frames")
    assert not warned(data_warnings(drives), "few labels")


def test_identical_images(drives):
    frozen = [replace(sequence, images=np.broadcast_to(drives[0].images[:1], sequence.images.shape)) for sequence in drives]
    assert warned(data_warnings(frozen), "all images look the same")
    assert not warned(data_warnings(drives), "all images look the same")


def test_too_little_data(drives):
    assert warned(data_warnings(drives[:2]), "2 training sequences with 48 frames")


def test_a_calibration_side_that_calibrate_would_refuse(drives):
    assert warned(calibration_warnings(drives, 24), "0 drives longer than 24 frames")
    assert calibration_warnings(drives, 20) == []


def test_constant_steering(drives):
    straight = [replace(sequence, actions=np.zeros_like(sequence.actions)) for sequence in drives]
    assert warned(data_warnings(straight), "steering never changes")


def test_collapsed_vae():
    assert warned(vae_warnings(1e-4 * torch.randn(20, 64, 4, 4), 0.01, 0.02), "collapsed")
    assert warned(vae_warnings(torch.randn(20, 64, 4, 4), 0.019, 0.02), "mean picture")
    assert vae_warnings(torch.randn(20, 64, 4, 4), 0.002, 0.02) == []
