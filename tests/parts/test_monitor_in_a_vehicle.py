"""The threaded monitor in donkeycar's own loop: what the channels say when the scorer's thread dies, and after."""

import threading
import time
from itertools import groupby

import pytest
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.parts.anomaly_calibrator import AnomalyCalibrator
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.safety_predictor import TTA, SafetyPredictor
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.settings import ScoreSettings

PATIENCE_S = 60.0
SENT = [channels.STEERING, channels.THROTTLE]
SCORE_CHANNELS = [channels.RHO, channels.DELTA, channels.SCORES_AGE_S, channels.SCORES_VALID, channels.SCORES_STATE]


class Car:
    """Camera and commands, in step with the scorer, so that a slow machine tells the same story."""

    def __init__(self, camera, commands, streams, dies_at):
        self.camera, self.commands, self.streams, self.dies_at = camera, commands, streams, dies_at
        self.tick = -1

    def run(self):
        self.tick += 1
        self._let_the_scorer_finish()
        if self.tick == self.dies_at:
            self.streams.before = self._die
        return self.camera(self.tick), *self.commands(self.tick)

    def _let_the_scorer_finish(self):
        end = time.monotonic() + PATIENCE_S
        while not self.streams.threads or self.streams.taken < self.tick and self.streams.threads[-1].is_alive():
            assert time.monotonic() < end, "the scorer does not finish"
            time.sleep(0.002)

    def _die(self, frame):
        self.streams.before = lambda frame: None
        raise MemoryError("the thread dies")


class Notes:
    def __init__(self):
        self.rows = []

    def run(self, *values):
        self.rows.append(values)


def test_a_dead_scorer_thread_is_told_with_the_cautious_bound_and_replaced(
    bundle, calibrator, small, streams, camera, commands, context, monkeypatch
):
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    intake = FrameIntake(gap_s=PATIENCE_S, frozen_s=1e9)
    scorer = WorldModelScorer(bundle, calibrator.statistics, intake=intake, make_stream=streams, **small)
    judge = AnomalyCalibrator(calibrator, bundle.horizons, max_age_s=PATIENCE_S)
    notes = Notes()
    vehicle = Vehicle()
    vehicle.add(Car(camera, commands, streams, dies_at=2 * context), outputs=[channels.IMAGE, *SENT])
    vehicle.add(TTA(SafetyPredictor(bundle), ScoreSettings(views=2)), inputs=[channels.IMAGE], outputs=[channels.P_TTA])
    vehicle.add(scorer, inputs=[channels.IMAGE, *SENT], outputs=[*SCORE_CHANNELS, channels.SCORES], threaded=True)
    said = [channels.CONFIDENCE, channels.CONFIDENCE_MIN, channels.STATUS]
    vehicle.add(judge, inputs=[channels.P_TTA, *SCORE_CHANNELS], outputs=said)
    vehicle.add(notes, inputs=[channels.STATUS, channels.CONFIDENCE, channels.P_TTA, channels.SCORES_VALID])
    vehicle.start(rate_hz=1000, max_loop_count=5 * context)

    rows = [("ok" if status.startswith("unusual") else status, *others) for status, *others in notes.rows]
    statuses = [row[0] for row in rows]
    assert [status for status, _ in groupby(statuses)] == ["warming up", "ok", "scorer down", "warming up", "ok"]
    assert 2 * context <= statuses.index("scorer down") <= 2 * context + 2
    for status, confidence, p, valid in rows:
        assert valid == (status == "ok")
        if status != "ok":
            assert confidence == pytest.approx(judge.run(p, 1.0, 1.0, 0.0, False)[0])
