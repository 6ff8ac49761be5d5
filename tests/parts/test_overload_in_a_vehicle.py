"""A computer that is too slow, with real threads in donkeycar's own loop at 20 Hz. tests/parts/test_backlog.py has it without."""

import logging
import time

import pytest
from donkeycar.vehicle import Vehicle

from donkey_aicc import channels
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.monitor_status import MonitorStatus, NewestScores
from donkey_aicc.parts.monitor_stream import MonitorStream
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.scoring.settings import GRADES, ScoreSettings

RATE_HZ, DRIVE_S = 20, 16.0
SETTINGS = ScoreSettings(samples=2, rollout_steps=6, rollout_every=6, context=30)
SCORE_CHANNELS = [
    channels.RHO,
    channels.DELTA,
    channels.SCORES_AGE_S,
    channels.SCORES_VALID,
    channels.SCORES_STATE,
    channels.SCORES,
]


class Car:
    def __init__(self, camera, commands):
        self.camera, self.commands, self.tick = camera, commands, -1

    def run(self):
        self.tick += 1
        return self.camera(self.tick), *self.commands(self.tick)


class Notes:
    def __init__(self):
        self.rows = []

    def run(self, *values):
        self.rows.append(values)


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [15, 8, 3])
def test_it_reaches_full_validity_says_so_and_steps_down(bundle, statistics, camera, commands, caplog, rate_hz):
    def slowed(pause=None):
        stream = MonitorStream(bundle, statistics, SETTINGS, pause=pause)
        take = stream.take

        def take_slowly(frame, unseen=()):
            time.sleep(1.0 / rate_hz)
            return take(frame, unseen)

        stream.take = take_slowly
        return stream

    lower = [(SETTINGS.at_grade(grade), statistics) for grade in GRADES[1:]]
    intake, notes = FrameIntake(gap_s=10.0, frozen_s=1e9), Notes()
    scorer = WorldModelScorer(bundle, statistics, SETTINGS, lower=lower, intake=intake, make_stream=slowed)
    vehicle = Vehicle()
    vehicle.add(Car(camera, commands), outputs=[channels.IMAGE, channels.STEERING, channels.THROTTLE])
    vehicle.add(intake, inputs=[channels.IMAGE], outputs=[channels.FRAME, channels.MODEL_IMAGE])
    vehicle.add(NewestScores(scorer), outputs=[*SCORE_CHANNELS, channels.SIGNS])
    vehicle.add(MonitorStatus(scorer), inputs=[channels.SCORES_STATE], outputs=[channels.STATUS, channels.GRADE])
    vehicle.add(scorer, inputs=[channels.FRAME, channels.STEERING, channels.THROTTLE], outputs=SCORE_CHANNELS, threaded=True)
    vehicle.add(notes, inputs=[channels.SCORES_VALID, channels.SCORES_STATE, channels.STATUS, channels.GRADE])
    with caplog.at_level(logging.WARNING):
        vehicle.start(rate_hz=RATE_HZ, max_loop_count=int(DRIVE_S * RATE_HZ))
    valid = [bool(row[0]) for row in notes.rows]
    assert all(valid[-100:]), "the scores stay whole, also across the steps down"
    assert {state for _, state, _, _ in notes.rows[-100:]} == {"ok"}
    told = [status for _, _, status, _ in notes.rows if "computer too slow: scoring" in status]
    assert told and "frames a second" in told[-1]
    grades = [grade for *_, grade in notes.rows]
    assert grades[0] == "full" and grades[-1] != "full" and grades == sorted(grades, key=GRADES.index)
    assert any("going on at grade half" in record.message for record in caplog.records)
