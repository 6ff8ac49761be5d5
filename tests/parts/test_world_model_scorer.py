"""The scorer's thread: every frame in order, and its life and death."""

import json
import threading
import time
from dataclasses import replace

import donkeycar as dk
import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.parts import world_model_scorer
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.monitor_stream import Scored
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.nominal_distance import MahalanobisScore

PATIENCE_S = 30.0


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.002)


@pytest.fixture
def scorer(bundle, statistics, small, intake, streams):
    part = WorldModelScorer(bundle, statistics, intake=intake, make_stream=streams, **small)
    yield part
    part.shutdown()


def start(scorer):
    threading.Thread(target=scorer.update, daemon=True).start()


def test_thread_and_loop_give_the_same_scores(bundle, statistics, small, clock, scorer, camera, commands, context):
    direct = WorldModelScorer(bundle, statistics, intake=FrameIntake(clock=clock), **small)
    start(scorer)
    for number in range(context + 4):
        clock.now += 0.05
        wanted = direct.run(camera(number), *commands(number))
        scorer.run_threaded(camera(number), *commands(number))
        wait_until(lambda scored=number + 1: scorer.counts.frames_scored == scored)
        found = scorer.newest
        assert (found.rho, found.delta) == pytest.approx(wanted[:2], abs=1e-6) and found.state == wanted[4]
        assert found.scores == pytest.approx(wanted[5], abs=1e-6)
    assert wanted[3:5] == (True, "ok")


def test_outputs_are_plain_and_the_first_four_are_the_documented_channels(scorer, camera, commands):
    rho, delta, age, valid, state, scores = scorer.run(camera(0), *commands(0))
    assert all(type(number) is float for number in (rho, delta, age)) and valid is False and type(state) is str
    json.dumps([rho, delta, age, valid, state, scores], allow_nan=False)


def test_slow_scoring_in_the_loop_is_no_gap(scorer, streams, clock, camera, commands, context):
    def slow(frame):
        clock.now += 2.0

    streams.before = slow
    states = [scorer.run(camera(number), *commands(number))[4] for number in range(context)]
    assert states == ["warming up"] * (context - 1) + ["ok"]


def test_before_the_first_result_scores_are_maximal_and_invalid(scorer, camera, commands):
    assert scorer.run_threaded(camera(0), *commands(0)) == (1.0, 1.0, 0.0, False, "warming up", {})


class SlowStream:
    """Stands in for the nets: remembers what it was asked to do, and waits for leave."""

    def __init__(self):
        self.leave = threading.Semaphore(0)
        self.taken = []

    def take(self, frame, unseen=()):
        self.leave.acquire()
        self.taken.append((round(frame.steering * 100), frame.starts_sequence))
        return Scored(frame.time_s, "ok", 0.1, 0.2, {})


def test_dead_thread_is_noticed_restarted_and_told(scorer, streams, clock, camera, commands, context, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    start(scorer)
    number = 0

    def tick(scored=None):
        nonlocal number
        clock.now += 0.05
        found = scorer.run_threaded(camera(number), *commands(number))
        number += 1
        if scored:
            wait_until(lambda: scorer.counts.frames_scored >= scored)
        return found

    def die(frame):
        raise MemoryError("the thread dies")

    for frame in range(context + 1):
        found = tick(frame + 1)
    assert found[4] == "ok"
    streams.before = die
    tick()
    wait_until(lambda: not streams.threads[0].is_alive())
    told = [tick() for _ in range(3)]
    assert {found[4] for found in told} == {"scorer down"} and {found[3] for found in told} == {False}
    assert {found[:2] for found in told} == {(1.0, 1.0)}
    wait_until(lambda: len(streams.threads) == 2 and not streams.threads[1].is_alive())  # the second one died as well
    assert scorer.counts.restarts == 1
    streams.before = lambda frame: None
    assert tick()[4] == "scorer down" and scorer.counts.restarts == 1  # not in every tick
    clock.now += world_model_scorer.RESTART_EVERY_S
    scored = scorer.counts.frames_scored
    assert tick(scored + 1)[4] == "scorer down" and scorer.counts.restarts == 2
    assert tick()[4] == "warming up"


def test_a_thread_that_hangs_is_replaced_and_may_not_publish_any_more(scorer, streams, clock, camera):
    slow = SlowStream()
    good, streams.make = streams.make, lambda pause: slow
    start(scorer)
    scorer.run_threaded(camera(0), 0.0, 0.2)
    wait_until(lambda: streams.taken == 1)
    scorer.run_threaded(camera(1), 0.0, 0.2)
    streams.make = good
    clock.now += world_model_scorer.HANG_S + 1
    assert scorer.run_threaded(camera(2), 0.0, 0.2)[4] == "scorer down"
    wait_until(lambda: scorer.counts.frames_scored == 2)
    result = scorer.newest
    slow.leave.release()
    streams.threads[0].join(PATIENCE_S)
    assert scorer.newest is result and scorer.counts.restarts == 1


def test_shutdown_ends_the_thread_and_the_next_drive_starts_fresh(scorer, streams, clock, camera, commands):
    start(scorer)
    scorer.run_threaded(camera(0), *commands(0))
    wait_until(lambda: scorer.counts.frames_scored == 1)
    scorer.shutdown()
    assert not streams.threads[0].is_alive()
    clock.now += 5.0
    assert scorer.run_threaded(camera(0), *commands(0))[:5] == (1.0, 1.0, 0.0, False, "warming up")


def test_in_a_vehicle_every_frame_is_scored_or_jumped_over(bundle, statistics, small, camera, context):
    frames = context + 8

    class Camera:
        number = -1

        def run(self):
            self.number += 1
            return camera(self.number), 0.1, 0.3

    class Page:
        seen: list = []

        def run(self, *values):
            self.seen.append(values)

    scorer = WorldModelScorer(bundle, statistics, **small)
    vehicle = dk.vehicle.Vehicle()
    vehicle.add(Camera(), outputs=["cam/image_array", "steering", "throttle"])
    outputs = ["aicc/rho", "aicc/delta", "aicc/scores_age_s", "aicc/scores_valid"]
    vehicle.add(scorer, inputs=["cam/image_array", "steering", "throttle"], outputs=outputs, threaded=True)
    vehicle.add(Page(), inputs=outputs)

    class WaitForTheScorer:
        def shutdown(self):
            wait_until(lambda: scorer.counts.frames_scored + scorer.counts.frames_skipped == frames)

    vehicle.parts.insert(0, {"part": WaitForTheScorer(), "run_condition": "never"})  # Vehicle.stop goes through them in order
    vehicle.mem["never"] = False
    vehicle.start(rate_hz=100, max_loop_count=frames)
    assert scorer.counts.frames_scored >= 1 and scorer.counts.restarts == 0
    assert all(value is not None for values in Page.seen for value in values)


def test_shutdown_does_not_wait_for_the_rest_of_a_rollout(scorer, streams, camera, commands):
    steps, outcome = [], []

    class LongRollout:
        def __init__(self, pause):
            self.pause = pause

        def take(self, frame, unseen=()):
            end = time.monotonic() + PATIENCE_S
            try:
                while time.monotonic() < end:
                    steps.append(1)
                    time.sleep(0.001)
                    self.pause()
            except Exception as ended:
                outcome.append(ended)
                raise

    streams.make = LongRollout
    start(scorer)
    scorer.run_threaded(camera(0), *commands(0))
    wait_until(lambda: steps)
    scorer.shutdown()
    assert outcome and not streams.threads[0].is_alive() and scorer.counts.frames_scored == 0


def test_mistakes_are_named(bundle, statistics, small):
    with pytest.raises(AiccError, match="statistics do not fit this version"):
        WorldModelScorer(bundle, replace(statistics, latent_mean=MahalanobisScore.fit(np.eye(6))), **small)
