"""The scorer's thread with a stand-in for the nets: when it is watched, replaced and stepped down, to the second."""

import logging
import threading
import time

import pytest

from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.monitor_stream import Scored
from donkey_aicc.parts.world_model_scorer import Counts, WorldModelScorer
from donkey_aicc.scoring.settings import GRADES

PATIENCE_S = 30.0
TICK_S = 0.0625


class Nets:
    """Stream factory and stream in one: scores a frame for each leave it is given."""

    def __init__(self):
        self.leave = threading.Semaphore(0)
        self.grade, self.made, self.begun, self.seen, self.dies = "full", 0, 0, [], False
        self.thread = None  # the newest

    def __call__(self, pause=None):
        if pause is not None:
            self.thread = threading.current_thread()
            self.made += 1
        return self

    def take(self, frame, unseen=()):
        self.begun += 1
        if self.dies:
            raise MemoryError("the thread dies")
        assert self.leave.acquire(timeout=PATIENCE_S)
        self.seen.append((frame.number, [each.number for each in unseen]))
        return Scored(frame.time_s, "ok", 0.1, 0.2, {"rho": 0.1}, grade=self.grade)

    def step_down(self, settings, statistics):
        self.grade = settings.grade


class Car:
    """A scorer in a loop on a clock of its own."""

    def __init__(self, bundle, settings, clock, camera, lower=()):
        self.nets, self.clock, self.camera, self.number = Nets(), clock, camera, 0
        intake = FrameIntake(clock=clock, gap_s=60.0)
        self.scorer = WorldModelScorer(bundle, None, settings, intake=intake, make_stream=self.nets, lower=lower)

    def start(self):
        threading.Thread(target=self.scorer.update, daemon=True).start()
        wait_until(lambda: self.nets.made == 1)
        return self

    def tick(self, seconds=TICK_S, scored=False):
        self.clock.now += seconds
        self.number += 1
        found = self.scorer.run_threaded(self.camera(self.number % 8), 0.1, 0.2)
        if scored:
            count = self.scorer.counts.frames_scored
            self.nets.leave.release()
            wait_until(lambda: self.scorer.counts.frames_scored == count + 1)
        return found


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.001)


@pytest.fixture
def make_car(bundle, small, clock, camera):
    made = []

    def make(**more):
        made.append(Car(bundle, small["settings"], clock, camera, **more))
        return made[-1]

    yield make
    for car in made:
        car.nets.leave.release(1000)
        car.scorer.shutdown()


def test_the_age_without_a_score_counts_from_the_first_tick(make_car):
    car = make_car().start()
    assert [car.tick()[2] for _ in range(4)] == [0.0, TICK_S, 2 * TICK_S, 3 * TICK_S]


def test_the_age_of_a_score_is_that_of_its_frame(make_car, clock):
    car = make_car().start()
    car.tick(scored=True)
    assert car.tick() == (0.1, 0.2, TICK_S, True, "ok", {"rho": 0.1})
    clock.now += 1.5
    assert car.scorer.read()[2] == TICK_S + 1.5


def test_a_thread_that_nobody_started_is_missed_after_two_seconds(make_car):
    car = make_car()
    assert [car.tick(seconds)[4] for seconds in (0.0, 1.0, 1.0)] == ["warming up"] * 3 and car.scorer.counts.restarts == 0
    assert car.tick()[4] == "scorer down" and car.scorer.counts.restarts == 1
    wait_until(lambda: car.nets.made == 1)


def test_a_thread_that_hangs_is_missed_after_ten_seconds_if_frames_wait(make_car):
    car = make_car().start()
    car.tick(scored=True)
    car.tick(0.0)
    wait_until(lambda: car.nets.begun == 2)  # and never done
    assert car.tick(10.0)[4] == "ok"
    assert car.tick()[4] == "scorer down" and car.scorer.counts.restarts == 1
    assert car.tick(0.9)[4] == "scorer down" and car.scorer.counts.restarts == 1


def test_a_thread_that_dies_is_replaced_at_most_once_a_second(make_car, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    car = make_car().start()
    car.nets.dies = True
    car.tick()

    def restarts_after(seconds):
        wait_until(lambda: car.nets.begun == car.nets.made and not car.nets.thread.is_alive())
        made, now = car.nets.made, car.scorer.counts.restarts
        assert car.tick(seconds)[4] == "scorer down"
        new = car.scorer.counts.restarts - now
        wait_until(lambda: car.nets.made == made + new)
        return new

    assert [restarts_after(seconds) for seconds in (TICK_S, 0.5, 0.25, 0.25, 0.75, 0.5)] == [1, 0, 0, 1, 0, 1]


def test_too_slow_for_four_seconds_it_goes_on_one_grade_lower_until_there_is_none(make_car, small, caplog):
    car = make_car(lower=[(small["settings"].at_grade(grade), None) for grade in GRADES[1:]]).start()
    grades = []
    with caplog.at_level(logging.WARNING):
        for number in range(400):
            car.tick(scored=number % 4 == 3)
            grades.append(car.scorer.grade)
    assert list(dict.fromkeys(grades)) == list(GRADES)
    half, light = grades.index("half") * TICK_S, grades.index("light") * TICK_S
    assert 6.0 < half < 7.5 and 4.0 < light - half < 5.0
    assert car.scorer.slow == "computer too slow: scoring 4 of 16 frames a second"
    assert [record.message.split("; ")[1] for record in caplog.records] == [
        "going on at grade half",
        "going on at grade light",
        "it stays at grade light: there is no lower one to go to",
    ]
    assert car.scorer.counts.frames_skipped == sum(len(unseen) for _, unseen in car.nets.seen) > 100


def test_the_next_drive_starts_without_what_was_known_of_the_last(make_car):
    car = make_car().start()
    for number in range(80):
        car.tick(scored=number % 4 == 3)
    assert car.scorer.slow and car.scorer.newest is not None
    car.nets.leave.release(10)
    car.scorer.shutdown()
    assert car.scorer.slow == "" and car.scorer.newest is None
    assert car.tick()[:5] == (1.0, 1.0, 0.0, False, "warming up") and car.scorer.counts == Counts()
