"""How the car answers: each way to answer wrongly is seen soon after the start and told apart, at any rate of the loop."""

import numpy as np
import pytest

from donkey_aicc.alarm.response import RESPONSE_SIGNS, Response, ResponseStream, fit_response
from donkey_aicc.alarm.timing import ANSWERS_S

CRUISE, PX_PER_S = 0.4, 25.0
GAIN = RESPONSE_SIGNS.index("gain")


def drive(seed, rate_hz=20.0, seconds=20.0, *, gain=1.0, offset=0.0, late_s=0.0, at_rest=True):
    """turn_px (N,) and actions (N, 2) of a car whose wheels follow after a tenth of a second."""
    rng, frames = np.random.default_rng(seed), round(seconds * rate_hz)
    at = np.arange(frames) / rate_hz
    steering = sum(rng.normal(0.0, 0.15) * np.sin(rng.uniform(0.3, 3.0) * at + rng.uniform(0.0, 6.0)) for _ in range(6))
    throttle = np.full(frames, CRUISE)
    speed = 1.0 - np.exp(-at / 0.6) if at_rest else np.ones(frames)
    late = round((0.1 + late_s) * rate_hz)
    held = np.concatenate([np.zeros(late), gain * steering - offset])[:frames]
    turn = -PX_PER_S / rate_hz * 3.0 * speed * held + rng.normal(0.0, 0.1, frames)
    return turn, np.stack([steering, throttle], axis=1)


@pytest.fixture(scope="module")
def response():
    return fit_response([drive(seed) for seed in range(8)], CRUISE, 20.0)


def signs(response, turn, actions, rate_hz=20.0):
    stream = ResponseStream(1, response, rate_hz)
    return np.concatenate([stream.update(turn[[i]], [actions[[i]]], np.ones(1)) for i in range(len(turn))])


def reach(response, **change):
    """(signs,) the largest size of each within two seconds of a drive that rolls already; and when a pull was first plain."""
    found = signs(response, *drive(99, at_rest=False, **change))
    return np.nanmax(np.abs(found[:60]), axis=0), found


def test_the_filter_is_found_again(response):
    assert response.weights[1:].sum() == pytest.approx(-PX_PER_S / 20.0 * 3.0, rel=0.05)
    turn, actions = drive(77, at_rest=False)
    expected = [response.weights[1:] @ actions[i - 9 : i + 1, 0][::-1] for i in range(20, len(turn))]
    assert np.std(turn[20:] - expected) < 0.12, "what is left is the noise of the picture"
    assert fit_response([(np.full(400, np.nan), drive(0)[1])], CRUISE, 20.0) is None, "no picture, no response"
    assert fit_response([drive(0)], 0.0, 20.0) is None, "a car that was never driven"


def test_it_speaks_after_ten_frames_and_a_sound_start_is_nothing(response):
    found = signs(response, *drive(50))
    assert np.isnan(found[:9]).all() and np.isfinite(found[9:]).all()
    assert np.abs(found[9:, : RESPONSE_SIGNS.index("gain")]).max() < 0.4
    backwards = signs(response, *drive(50, gain=-1.0))
    assert np.abs(backwards[9:30, 0]).max() > 3 * np.abs(found[9:, 0]).max()


def test_reversed_weak_offset_and_late_have_their_own_shape(response):
    usual, _ = reach(response)
    against, rows = reach(response, gain=-1.0)
    assert np.nanmin(rows[:, GAIN]) < -1.0, "it turns the other way"
    _, weak = reach(response, gain=0.4)
    assert -0.75 < np.nanmin(weak[:, GAIN]) < -0.35, "it turns less, and not the other way"
    aside, rows = reach(response, offset=0.12)
    assert (rows[30:, RESPONSE_SIGNS.index("pull_long")] > 0.3).all(), "to one side all the time"
    late, _ = reach(response, late_s=0.25)
    assert late[RESPONSE_SIGNS.index("late")] > 4 * usual[RESPONSE_SIGNS.index("late")]
    assert against[0] > 5 * usual[0] and aside[2] > 3 * usual[2]


def test_a_slowed_car_turns_less_and_is_as_expected(response):
    turn, actions = drive(7, at_rest=False)
    stream, found = ResponseStream(1, response, 20.0), []
    for i in range(200):
        found.append(stream.update(0.6 * turn[[i]], [actions[[i]]], np.full(1, 0.5))[0])
    assert np.nanmax(np.abs(np.array(found)[:, : RESPONSE_SIGNS.index("late")])) < 0.3


def test_a_turn_over_dropped_frames_is_not_one_frames(response):
    turn, actions = drive(3, at_rest=False)
    stream = ResponseStream(1, response, 20.0)
    for i in range(40):
        before = stream.update(turn[[i]], [actions[[i]]], np.ones(1))
    after = stream.update(np.array([50.0]), [actions[[40]], actions[[41]]], np.ones(1))
    assert np.abs(after - before).max() < 0.2


@pytest.mark.parametrize("rate_hz", [10.0, 30.0, 60.0])
def test_seconds_mean_seconds_at_every_rate(rate_hz):
    own = fit_response([drive(seed, rate_hz) for seed in range(8)], CRUISE, rate_hz)
    assert own is not None
    again = Response.from_json(own.to_json(), rate_hz)
    assert np.array_equal(again.weights, own.weights)
    turn, actions = drive(60, rate_hz, gain=-1.0, at_rest=False)
    found = signs(own, turn, actions, rate_hz)
    assert int(np.isfinite(found[:, 0]).argmax()) == pytest.approx(ANSWERS_S * rate_hz, abs=1)
    assert np.nanmin(found[:, GAIN]) < -1.0
