"""A computer that is too slow: it jumps to the newest frames, still reaches full validity, says so, and steps down."""

import numpy as np
import pytest

from donkey_aicc.parts.monitor_stream import Backlog, Frame, MonitorStream
from donkey_aicc.scoring.settings import ScoreSettings

TICK_S, STEPS = 0.05, 10
SETTINGS = ScoreSettings(samples=2, rollout_steps=6, rollout_every=6, context=30)
IMAGES = np.random.default_rng(0).integers(90, 166, (40, 64, 64, 3)).astype(np.uint8)


def frame(number, starts=False):
    return Frame(number * TICK_S, IMAGES[number % len(IMAGES)], 0.3 * np.sin(number / 3), 0.25, 0 if starts else 1 + number)


class SlowComputer:
    """The loop at 20 Hz and one scorer that takes `cost_s` for a frame, on a clock of their own."""

    def __init__(self, stream, cost_s):
        self.stream, self.cost_s, self.backlog = stream, cost_s, Backlog()
        self.now = self.free_at = 0.0
        self.found, self.stepped_down = [], []

    def drive(self, ticks):
        for step in range(ticks * STEPS):
            self.now = step * TICK_S / STEPS
            if step % STEPS == 0:
                self.backlog.add(frame(step // STEPS, starts=step == 0))
            while self.free_at <= self.now and len(self.backlog):
                newest, unseen = self.backlog.take()
                self.found.append((self.now, newest, self.stream.take(newest, unseen)))
                self.free_at = self.now + self.cost_s
                self.backlog.note_scored(self.now)
                if self.backlog.should_step_down(self.now):
                    self.stepped_down.append(self.now)
        return self


@pytest.mark.parametrize("rate_hz", [15, 8, 3])
def test_a_slow_computer_reaches_full_validity_and_says_how_slow_it_is(bundle, statistics, rate_hz):
    computer = SlowComputer(MonitorStream(bundle, statistics, SETTINGS), 1 / rate_hz).drive(200)
    valid_from = next(seen.time_s for _, seen, result in computer.found if result.state == "ok")
    # the paper's window in seconds, and the first look ahead done
    assert valid_from <= SETTINGS.context * TICK_S + 2 / rate_hz
    assert {result.state for now, _, result in computer.found if now > valid_from} == {"ok"}
    assert max(now - seen.time_s for now, seen, _ in computer.found) <= 4 * TICK_S + 1e-9  # never old frames
    told = computer.backlog.slow()
    words = told.split()
    assert words[:4] == ["computer", "too", "slow:", "scoring"] and told.endswith("of 20 frames a second")
    assert abs(int(words[4]) - rate_hz) <= 1
    assert computer.stepped_down and computer.stepped_down[0] < 10.0


def test_a_computer_that_keeps_up_scores_every_frame_and_says_nothing(bundle, statistics):
    computer = SlowComputer(MonitorStream(bundle, statistics, SETTINGS), 0.04).drive(100)
    assert len(computer.found) == 100 and computer.backlog.frames_skipped == 0
    assert computer.backlog.slow() == "" and not computer.stepped_down


def test_stepping_down_goes_on_with_the_statistics_of_that_grade(bundle, statistics):
    stream = MonitorStream(bundle, statistics, SETTINGS)
    for number in range(40):
        result = stream.take(frame(number, starts=number == 0))
    assert (result.state, result.grade) == ("ok", "full")
    stream.step_down(SETTINGS.at_grade("light"), None)
    assert stream.take(frame(40)).state == "no statistics"
    stream.step_down(SETTINGS.at_grade("light"), statistics)
    after = stream.take(frame(41))
    assert (after.state, after.grade) == ("ok", "light")  # no new warm-up
