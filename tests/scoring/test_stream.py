from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.nets.preprocess import images_to_array
from donkey_aicc.scoring.randomness import FrameRandomness
from donkey_aicc.scoring.settings import ScoreSettings
from donkey_aicc.scoring.stream import StreamScorer
from tests.scoring.reference import score_sequence

SMALL = ScoreSettings(samples=3, rollout_steps=6, rollout_every=4, context=8, seed=11)


def run(scorer, sequence, frames=None, start=0):
    """rho_raw (N,), features (N, 12), latent (N, 64) of lane 0."""
    rows = []
    for t in range(start, frames or len(sequence)):
        scores = scorer.step(sequence.images[t : t + 1], sequence.actions[t : t + 1])
        rows.append((scores.rho_raw[0], scores.features[0], scores.latent[0]))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def by_reference(bundle, sequence, **changes):
    settings = {**SMALL.to_json(), **changes}
    randomness = FrameRandomness(settings["seed"], settings["samples"])
    names = ("context", "rollout_steps", "rollout_every", "window_priming")
    chosen = {name: settings[name] for name in names if name in settings}
    return score_sequence(bundle, sequence.images, sequence.actions, randomness, **chosen)


def test_streaming_equals_the_plain_reference(bundle, drive):
    sequence = drive(14, seed=1)
    for ours, plain in zip(run(StreamScorer(bundle, SMALL), sequence), by_reference(bundle, sequence), strict=True):
        np.testing.assert_allclose(ours, plain, atol=1e-5)


@pytest.mark.parametrize("kind", ["one frame", "constant steering", "all turns", "frozen camera"])
def test_degenerate_drives_equal_the_plain_reference(bundle, drive, kind):
    sequence = drive(1 if kind == "one frame" else 13, seed=2)
    if kind == "constant steering":
        sequence.actions[:, 0] = 0.3
    elif kind == "all turns":
        sequence.actions[:, 0] = np.where(np.arange(13) % 3, 0.9, -0.9)
    elif kind == "frozen camera":
        sequence.images[:] = sequence.images[0]
    for ours, plain in zip(run(StreamScorer(bundle, SMALL), sequence), by_reference(bundle, sequence), strict=True):
        np.testing.assert_allclose(ours, plain, atol=1e-5)


def test_within_the_context_it_equals_a_cold_start(bundle, drive):
    """Until the context is full, living states and states primed anew from the context have seen the same frames."""
    sequence = drive(12, seed=3)
    living = run(StreamScorer(bundle, replace(SMALL, context=12)), sequence)
    cold = by_reference(bundle, sequence, context=12, window_priming=True)
    np.testing.assert_allclose(living[1], cold[1], atol=1e-4)


@pytest.mark.slow
def test_the_first_100_frames_equal_a_cold_start_at_full_size(bundle, drive):
    sequence = drive(100, seed=4)
    full = {"samples": 20, "rollout_steps": 50, "rollout_every": 33, "context": 100}
    living = run(StreamScorer(bundle, ScoreSettings(**full)), sequence)
    cold = by_reference(bundle, sequence, seed=0, window_priming=True, **full)
    for ours, plain in zip(living, cold, strict=True):
        np.testing.assert_allclose(ours, plain, atol=1e-4)


def test_a_replay_repeats_every_number(bundle, drive):
    sequence = drive(10)
    scorer = StreamScorer(bundle, SMALL)
    first = run(scorer, sequence)
    scorer.reset()
    for again in (run(scorer, sequence), run(StreamScorer(bundle, SMALL), sequence)):
        for one, two in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, two)


def test_another_seed_changes_the_rollout_features_only(bundle, drive):
    sequence = drive(5)
    one, two = (run(StreamScorer(bundle, replace(SMALL, seed=seed)), sequence)[1] for seed in (0, 1))
    assert (one[:, :3] != two[:, :3]).all()
    np.testing.assert_array_equal(one[:, 3:], two[:, 3:])


def test_lanes_do_not_touch_each_other(bundle, drive):
    drives = [drive(9, seed=seed) for seed in range(3)]
    together = StreamScorer(bundle, SMALL, lanes=3)
    for t in range(9):
        scores = together.step(np.stack([d.images[t] for d in drives]), np.stack([d.actions[t] for d in drives]))
    for lane, sequence in enumerate(drives):
        rho, features, latent = run(StreamScorer(bundle, SMALL), sequence)
        np.testing.assert_allclose(scores.rho_raw[lane], rho[-1], atol=1e-6)
        np.testing.assert_allclose(scores.features[lane], features[-1], atol=1e-5)
        np.testing.assert_allclose(scores.latent[lane], latent[-1], atol=1e-5)


def samples_per_frame(bundle, sequence, settings, monkeypatch):
    """How many samples go through the dynamics net, frame by frame."""
    samples, step = [], bundle.step
    monkeypatch.setattr(bundle, "step", lambda z, *others: samples.append(z.shape[1] * z.shape[2]) or step(z, *others))
    scorer, found = StreamScorer(bundle, settings), []
    for t in range(len(sequence)):
        scorer.step(sequence.images[t : t + 1], sequence.actions[t : t + 1])
        found.append(sum(samples))
        samples.clear()
    return found


def test_rollouts_are_spread_so_that_no_frame_costs_much_more_than_another(bundle, drive, monkeypatch):
    settings = replace(SMALL, rollout_steps=8)  # two steps a frame, the first of them with the frame itself
    assert samples_per_frame(bundle, drive(12), settings, monkeypatch) == [6, 9, 9, 9] * 3


def test_grade_light_runs_no_dynamics_net(bundle, drive, monkeypatch):
    sequence = drive(12)
    light = SMALL.at_grade("light")
    assert samples_per_frame(bundle, sequence, light, monkeypatch) == [0] * 12
    rho, features, latent = run(StreamScorer(bundle, light), sequence)
    full = run(StreamScorer(bundle, SMALL), sequence)
    np.testing.assert_array_equal(features[:, 3:], full[1][:, 3:])
    np.testing.assert_array_equal(rho, full[0])
    assert not features[:, :3].any()
    scores = StreamScorer(bundle, light).step(sequence.images[:1], sequence.actions[:1])
    assert scores.rollout_age_frames == 0 and not scores.warmed_up


def test_a_pass_at_grade_full_knows_the_numbers_of_grade_half(bundle, drive):
    sequence = drive(24, seed=12)
    settings = ScoreSettings(samples=7, rollout_steps=24, rollout_every=4, context=8)
    full, half = StreamScorer(bundle, settings), StreamScorer(bundle, settings.at_grade("half"))
    for t in range(24):
        image, action = sequence.images[t : t + 1], sequence.actions[t : t + 1]
        expected, found = half.step(image, action), full.step(image, action)
        np.testing.assert_allclose(found.half_rollout, expected.features[:, :3], atol=1e-6)
    assert np.isfinite(expected.features).all() and np.isnan(expected.half_rollout).all()


@pytest.mark.parametrize("grade", ["half", "light"])
def test_stepping_down_keeps_what_was_seen(bundle, drive, grade):
    sequence = drive(40, seed=13)
    settings = ScoreSettings(samples=6, rollout_steps=8, rollout_every=4, context=8)
    scorer, always = StreamScorer(bundle, settings), StreamScorer(bundle, settings.at_grade(grade))
    for t in range(40):
        if t == 21:
            scorer.step_down(settings.at_grade(grade))
        image, action = sequence.images[t : t + 1], sequence.actions[t : t + 1]
        found, expected = scorer.step(image, action), always.step(image, action)
        assert found.valid[0] or t < 8
    np.testing.assert_allclose(found.features, expected.features, atol=1e-5)
    assert found.frames_seen == 40


def test_age_and_validity(bundle, drive):
    sequence = drive(10)
    scorer = StreamScorer(bundle, SMALL)
    seen = [scorer.step(sequence.images[t : t + 1], sequence.actions[t : t + 1]) for t in range(10)]
    assert [scores.rollout_age_frames for scores in seen] == [1, 2, 2, 3, 4, 5, 2, 3, 4, 5]
    assert [scores.valid for scores in seen] == [False] * 7 + [True] * 3
    assert seen[-1].frames_seen == 10
    held = [scores.named()["rollout_mean"] for scores in seen]
    assert held[2] == held[5] != held[6]


def test_without_a_finished_rollout_nothing_is_valid(bundle, drive):
    sequence = drive(9)
    scorer = StreamScorer(bundle, replace(SMALL, rollout_every=12, rollout_steps=12))
    for t in range(9):
        scores = scorer.step(sequence.images[t : t + 1], sequence.actions[t : t + 1])
    assert not scores.valid and scores.rollout_age_frames == 9
    assert np.isnan(scores.features[0, :3]).all() and np.isfinite(scores.features[0, 3:]).all()


def test_floats_and_bytes_are_the_same_frame(bundle, drive):
    sequence = drive(1)
    one = StreamScorer(bundle, SMALL).step(sequence.images, sequence.actions)
    two = StreamScorer(bundle, SMALL).step(images_to_array(sequence.images), sequence.actions.astype(float).tolist())
    np.testing.assert_array_equal(one.features, two.features)


@pytest.mark.parametrize(
    ("image", "action", "complaint"),
    [
        (None, [[np.nan, 0.0]], "actions must be finite"),
        (None, [[0.1, np.inf]], "actions must be finite"),
        (None, [[0.1]], r"actions must have shape \(1, 2\)"),
        (np.zeros((1, 60, 80, 3), np.uint8), None, "images must be uint8"),
        (np.zeros((1, 64, 64, 3)), None, "images must be uint8"),
        (np.zeros((1, 3, 64, 64), np.uint8), None, "images must be uint8"),
        (np.zeros((2, 64, 64, 3), np.uint8), None, "one per lane"),
        (np.full((1, 3, 64, 64), np.nan), None, "must lie in 0..1"),
        (np.full((1, 3, 64, 64), 255.0), None, "must lie in 0..1"),
    ],
)
def test_bad_input_is_refused_and_leaves_no_trace(bundle, drive, image, action, complaint):
    sequence = drive(3)
    scorer, untouched = StreamScorer(bundle, SMALL), StreamScorer(bundle, SMALL)
    run(scorer, sequence, frames=2), run(untouched, sequence, frames=2)
    with pytest.raises(AiccError, match=complaint):
        scorer.step(sequence.images[:1] if image is None else image, sequence.actions[:1] if action is None else action)
    for one, two in zip(run(scorer, sequence, start=2), run(untouched, sequence, start=2), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("where", ["latent", "recurrent state"])
@pytest.mark.parametrize("spoiled_frame", [9, 12])  # between two rollouts, and on one
def test_one_nan_is_never_valid_and_gone_within_one_context(bundle, drive, monkeypatch, where, spoiled_frame):
    drives = [drive(24, seed=seed) for seed in (6, 7)]
    scorer, alone = StreamScorer(bundle, SMALL, lanes=2), StreamScorer(bundle, SMALL)
    valid = []
    for t in range(24):
        if t == spoiled_frame:
            spoil_first_lane(scorer, where, monkeypatch)
        scores = scorer.step(np.stack([d.images[t] for d in drives]), np.stack([d.actions[t] for d in drives]))
        monkeypatch.undo()
        finite = np.isfinite(scores.features).all(axis=1) & np.isfinite(scores.rho_raw) & np.isfinite(scores.latent).all(axis=1)
        assert not (scores.valid & ~finite).any() and scores.warmed_up == (t >= 7)
        expected = alone.step(drives[1].images[t : t + 1], drives[1].actions[t : t + 1])
        np.testing.assert_allclose(scores.features[1], expected.features[0], atol=1e-5)  # the other lane never noticed
        valid.append(scores.valid[0])
    assert valid[spoiled_frame - 1] and not valid[spoiled_frame]
    assert all(valid[spoiled_frame + SMALL.context :])


def spoil_first_lane(scorer, where, monkeypatch):
    encode, step = scorer._bundle.encode, scorer._bundle.step

    def spoiled(images):
        latent = encode(images).copy()
        latent[0, 3, 1, 2] = np.nan
        return latent

    def overflowing(*arguments):
        ahead, (hidden, cell, *second) = step(*arguments)
        cell = cell.copy()
        cell[5, 0, 0, 17] = np.inf  # sample 0 of lane 0
        return ahead, (hidden, cell, *second)

    name, change = ("encode", spoiled) if where == "latent" else ("step", overflowing)
    monkeypatch.setattr(scorer._bundle, name, change)


def test_frames_that_were_not_looked_at_keep_the_window_and_the_schedule(bundle, drive):
    """Every third frame seen, all commands known: the same stretch of time, the same steering features, due rollouts."""
    sequence = drive(24, seed=8)
    whole, every_third = StreamScorer(bundle, SMALL), StreamScorer(bundle, SMALL)
    ages, warm = [], []
    for t in range(24):
        image, action = sequence.images[t : t + 1], sequence.actions[t : t + 1]
        expected = whole.step(image, action)
        if t % 3 == 2:
            unseen = [sequence.actions[n : n + 1] for n in (t - 2, t - 1)]
            found = every_third.step(image, action, unseen=unseen)
            ages.append(found.rollout_age_frames)
            warm.append(found.warmed_up)
            steering_only = [3, 4, 5, 6, 7, 8, 10]
            np.testing.assert_allclose(found.features[0, steering_only], expected.features[0, steering_only], atol=1e-9)
            assert found.frames_seen == expected.frames_seen == t + 1
    assert ages == [0, 3, 3, 3] * 2  # due at 0, 4, 8, ...: started with the first frame seen from there on
    assert warm == [False, False, True, True, True, True, True, True] and found.valid[0]


def test_pictures_between_two_seen_frames_count_as_a_line(bundle, drive):
    sequence = drive(9, seed=9)
    scorer = StreamScorer(bundle, SMALL)
    action = sequence.actions[:1]
    first = scorer.step(sequence.images[:1], action).frame_error[0]
    found = scorer.step(sequence.images[4:5], action, unseen=[action] * 3)
    assert found.rho_raw[0] == pytest.approx((first + found.frame_error[0]) / 2)


@pytest.mark.parametrize("value", [0, 255])
def test_black_and_white_pictures_are_scored(bundle, drive, value):
    found = StreamScorer(bundle, SMALL).step(np.full((1, 64, 64, 3), value, np.uint8), drive(1).actions)
    assert np.isfinite(found.rho_raw[0]) and found.frame_error[0] > 0.0


def test_drives_that_end_leave_the_others_as_they_were_and_a_reset_may_change_their_number(bundle, drive):
    drives = [drive(9, seed=seed) for seed in range(3)]
    scorer, told = StreamScorer(bundle, SMALL, lanes=3, pause=lambda: told.append(1)), []
    for t in range(9):
        if t == 5:
            scorer.keep(np.array([2, 0]))
            drives = [drives[2], drives[0]]
        assert scorer.lanes == len(drives)
        scores = scorer.step(np.stack([d.images[t] for d in drives]), np.stack([d.actions[t] for d in drives]))
    for lane, sequence in enumerate(drives):
        rho, features, latent = run(StreamScorer(bundle, SMALL), sequence)
        np.testing.assert_allclose(scores.rho_raw[lane], rho[-1], atol=1e-6)
        np.testing.assert_allclose(scores.features[lane], features[-1], atol=1e-5)
    assert len(told) >= 9 and scorer.squared_error.shape == (2, 3, 64, 64)
    scorer.reset(lanes=1)
    for one, two in zip(run(scorer, drives[0]), run(StreamScorer(bundle, SMALL), drives[0]), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_lanes_that_cannot_work_are_refused(bundle):
    with pytest.raises(ConfigError, match="lanes must be >= 1, got 0"):
        StreamScorer(bundle, SMALL, lanes=0)
