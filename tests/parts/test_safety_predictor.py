"""Predictor and TTA parts."""

import json

import numpy as np
import pytest

from donkey_aicc.nets.preprocess import as_recorded, images_to_array, to_model_image
from donkey_aicc.parts.safety_predictor import TTA, SafetyPredictor
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.score_table import FEATURE_NAMES
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.tta_views import predict_tta


def test_prediction_is_a_plain_list_of_one_float_per_horizon(bundle, camera):
    p = SafetyPredictor(bundle).run(camera(0))
    assert len(p) == len(bundle.horizons) and all(type(value) is float and 0.0 <= value <= 1.0 for value in p)
    json.dumps(p, allow_nan=False)


def test_tta_composes_and_its_identity_view_is_the_prediction(bundle, camera):
    predictor = SafetyPredictor(bundle)
    p_tta, p_safe, p_restored, restored, hindsight, frame_scores = TTA(predictor, details=True).run(camera(0))
    assert p_safe == pytest.approx(predictor.run(camera(0)), abs=1e-6)
    assert len(p_tta) == len(p_safe) and p_tta != p_safe and frame_scores == {}
    assert p_restored == p_tta and restored == 0.0 and hindsight is None  # nobody said what is nominal
    assert TTA(predictor, ScoreSettings(views=1)).run(camera(0)) == pytest.approx(p_safe, abs=1e-6)


def test_views_follow_seed_and_frame_number_as_offline(bundle, camera):
    tta = TTA(SafetyPredictor(bundle), ScoreSettings(seed=5))
    live = [tta.run(camera(number)) for number in range(3)]
    for number in range(3):
        image = images_to_array(to_model_image(as_recorded(camera(number)))[None])
        offline = predict_tta(bundle, image, FrameRandomness(5, 1).tta(number)).p_tta[0].tolist()
        assert live[number] == pytest.approx(offline, abs=1e-6)
    tta.shutdown()
    assert tta.run(camera(0)) == live[0]


def test_scores_of_the_pass_are_offered_when_a_calibrator_asks(bundle, camera, statistics):
    tta = TTA(SafetyPredictor(bundle), details=True, statistics=statistics, score_names=("rho", "tta_spread"))
    scores = tta.run(camera(0))[-1]
    offline = predict_tta(bundle, images_to_array(to_model_image(as_recorded(camera(0)))[None]), FrameRandomness(0, 1).tta(0))
    wanted = statistics.frame_scores(1.0, np.zeros(len(FEATURE_NAMES)), None, offline.spread[0])["tta_spread"]
    assert scores == {"tta_spread": pytest.approx(wanted, abs=1e-4)}
    dense = TTA(SafetyPredictor(bundle), details=True, statistics=statistics, score_names=("density",)).run(camera(0))[-1]
    wanted = statistics.frame_scores(1.0, np.zeros(len(FEATURE_NAMES)), None, None, offline.features[0])["density"]
    assert dense == {"density": pytest.approx(wanted, rel=1e-4)}
    for lacking in ({"statistics": statistics, "score_names": ("rho",)}, {"score_names": ("tta_spread",)}):
        p_tta, *_, scores = TTA(SafetyPredictor(bundle), details=True, **lacking).run(camera(0))
        assert p_tta and scores == {}


@pytest.mark.parametrize(
    "image",
    [None, np.zeros((120, 160, 2), np.uint8), np.zeros((0, 160, 3), np.uint8), np.full((8, 8, 3), np.nan), "frame"],
)
def test_no_usable_image_is_an_empty_list(bundle, image):
    predictor = SafetyPredictor(bundle)
    assert predictor.run(image) == [] and TTA(predictor).run(image) == []


@pytest.mark.parametrize("shape", [(120, 160), (120, 160, 1), (240, 320, 3), (64, 64, 4)])
def test_any_size_and_depth_is_predicted(bundle, shape):
    image = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    image.setflags(write=False)
    assert len(TTA(SafetyPredictor(bundle)).run(image)) == len(bundle.horizons)


def test_nan_weights_give_no_prediction_instead_of_nan(bundle, camera, monkeypatch):
    predictor = SafetyPredictor(bundle)
    predict = predictor.bundle.predict

    def spoiled(images):
        features, logits = predict(images)
        return features, np.where(np.arange(logits.shape[1]) == 0, np.nan, logits)

    monkeypatch.setattr(predictor.bundle, "predict", spoiled)
    assert predictor.run(camera(0)) == [] and TTA(predictor).run(camera(0)) == []


def test_history_is_forgotten_where_a_new_sequence_starts(history_bundle, camera):
    predictor = SafetyPredictor(history_bundle)
    first = predictor.run(camera(0), 0.1)
    later = predictor.run(camera(1), 0.2)
    assert later != SafetyPredictor(history_bundle).run(camera(1), 0.2)  # the past counts
    for break_off in (predictor.reset, predictor.shutdown, TTA(predictor).reset):
        break_off()
        assert [predictor.run(camera(0), 0.1), predictor.run(camera(1), 0.2)] == [first, later]


@pytest.mark.parametrize("steering", [None, float("nan"), "left"])
def test_without_a_command_a_predictor_with_history_says_nothing(history_bundle, camera, steering):
    predictor = SafetyPredictor(history_bundle)
    assert predictor.run(camera(0), steering) == [] and TTA(predictor).run(camera(0), steering) == []


def test_a_gap_in_time_starts_the_history_again(history_bundle, camera, clock, intake):
    tta = TTA(SafetyPredictor(history_bundle, intake), ScoreSettings(views=2))
    first = tta.run(camera(0), 0.1)
    clock.now += 0.6
    assert tta.run(camera(0), 0.1) == first


def test_commands_count_within_the_range_of_a_tub(history_bundle, camera):
    def after(steering):
        predictor = SafetyPredictor(history_bundle)
        return [predictor.run(camera(number), steering) for number in range(2)]

    assert after(3.0) == after(1.0) and after(-3.0) == after(-1.0) and after(0.9) != after(1.0)


def test_a_net_that_fails_gives_no_prediction_and_is_told_once_a_drive(bundle, camera, monkeypatch, caplog):
    predictor = SafetyPredictor(bundle)
    monkeypatch.setattr(predictor.bundle, "predict", lambda images: 1 / 0)
    assert [predictor.run(camera(number)) for number in range(3)] == [[]] * 3 and len(caplog.records) == 1
    predictor.shutdown()
    assert predictor.run(camera(0)) == [] and len(caplog.records) == 2


@pytest.mark.parametrize(("details", "nothing"), [(False, []), (True, ([], [], [], None, None, {}))])
def test_tta_without_a_frame_or_with_a_net_that_fails_says_nothing(bundle, camera, monkeypatch, details, nothing):
    tta = TTA(SafetyPredictor(bundle), details=details)
    assert tta.run(None) == nothing and tta.run(camera(0)) != nothing
    monkeypatch.setattr(tta.predictor.bundle, "predict", lambda images: 1 / 0)
    assert tta.run(camera(1)) == nothing
