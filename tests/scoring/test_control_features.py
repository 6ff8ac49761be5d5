import numpy as np
import pytest

from donkey_aicc.scoring.control_features import CONTROL_FEATURES, ControlFeatures, cross_correlation_peak, high_frequency_ratio
from tests.scoring.reference import features_of_window

rng = np.random.default_rng(3)
FRAMES = 60


def smooth(n):
    return np.cumsum(rng.normal(0, 0.05, n))


STEERING = {
    "noise": rng.uniform(-1, 1, FRAMES),
    "wandering": smooth(FRAMES),
    "constant": np.full(FRAMES, 0.3),
    "zero": np.zeros(FRAMES),
    "ramp": np.linspace(-0.5, 0.5, FRAMES),
    "all turns": rng.choice([-0.9, 0.9], FRAMES),
    "alternating": np.tile([-0.4, 0.4], FRAMES // 2),
    "one change": np.r_[np.zeros(20), np.full(FRAMES - 20, 0.5)],
    "held turn": np.r_[smooth(20), np.full(FRAMES - 20, 0.5)],
    "steps of exactly the limit": np.cumsum(rng.choice([-0.02, 0.0, 0.02], FRAMES)),
    "keyboard": np.round(smooth(FRAMES) * 10) / 10,
}


def stream(steering, norms, context):
    """(frames, lanes, 9) of (frames, lanes) signals."""
    features = ControlFeatures(steering.shape[1], context)
    return np.stack([features.update(u, norm) for u, norm in zip(steering, norms, strict=True)])


def windows(steering, norms, context):
    """The same from the plain reference, for one lane."""
    starts = [max(0, t - context + 1) for t in range(len(steering))]
    return np.array([features_of_window(steering[s : t + 1], norms[s : t + 1]) for t, s in enumerate(starts)])


@pytest.mark.parametrize("name", STEERING)
@pytest.mark.parametrize("context", [2, 3, 25])
def test_streaming_equals_the_plain_formulas(name, context):
    norms = 30 + smooth(FRAMES)
    streamed = stream(STEERING[name][:, None], norms[:, None], context)[:, 0]
    np.testing.assert_allclose(streamed, windows(STEERING[name], norms, context), atol=1e-9)


def test_random_drives_equal_the_plain_formulas_in_all_lanes():
    lanes = [rng.choice([smooth(FRAMES), np.round(smooth(FRAMES), 1), rng.choice([0.0, 0.01, 0.3], FRAMES)]) for _ in range(12)]
    norms = 25 + np.cumsum(rng.normal(0, 0.3, (FRAMES, 12)), axis=0)
    streamed = stream(np.stack(lanes, axis=1), norms, 30)
    for lane, steering in enumerate(lanes):
        np.testing.assert_allclose(streamed[:, lane], windows(steering, norms[:, lane], 30), atol=1e-9)


def test_a_long_drive_does_not_drift():
    steering, norms = smooth(3000), 30 + smooth(3000)
    streamed = stream(steering[:, None], norms[:, None], 100)[-1, 0]
    np.testing.assert_allclose(streamed, features_of_window(steering[-100:], norms[-100:]), atol=1e-12)


def test_a_frozen_scene_has_no_correlation():
    features = stream(smooth(30)[:, None], np.full((30, 1), 32.0) + rng.normal(0, 1e-6, (30, 1)), 30)[-1, 0]
    named = dict(zip(CONTROL_FEATURES, features, strict=True))
    assert named["xcorr_peak"] == 0 and named["response_lag"] == 0


@pytest.mark.parametrize(("lag", "sign"), [(0, 1), (3, 1), (7, -1), (10, 1)])
def test_the_lag_of_a_delayed_answer_is_found(lag, sign):
    changes = np.random.default_rng(lag).normal(0, 0.1, 130)
    steering = np.cumsum(changes)[-100:]
    norms = 30 + sign * np.cumsum(changes)[-100 - lag : 130 - lag]
    peak, found = cross_correlation_peak(steering[None], norms[None])
    assert found[0] == lag
    assert sign * peak[0] > 0.8


def test_jitter_has_a_higher_frequency_share_than_slow_steering():
    t = np.arange(100)
    slow, fast = high_frequency_ratio(np.stack([np.sin(t / 10), np.where(t % 2, 0.1, -0.1)]))
    assert slow < 0.01 and fast > 0.99


def test_kept_lanes_go_on_unchanged():
    steering, norms = rng.uniform(-1, 1, (40, 3)), 30 + rng.normal(0, 1, (40, 3))
    expected = stream(steering, norms, 10)[-1, [2, 0]]
    features = ControlFeatures(3, 10)
    for t in range(20):
        features.update(steering[t], norms[t])
    features.keep(np.array([2, 0]))
    for t in range(20, 40):
        result = features.update(steering[t, [2, 0]], norms[t, [2, 0]])
    np.testing.assert_array_equal(result, expected)
