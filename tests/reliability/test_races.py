"""Many threads, switched a million times a second: buttons against the loop, the scorer's restart, the cockpit's reader."""

import asyncio
import contextlib
import logging
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.parts.anomaly_injector import AnomalyInjector
from donkey_aicc.parts.frame_intake import FrameIntake
from donkey_aicc.parts.injection_control import InjectionControl
from donkey_aicc.parts.world_model_scorer import WorldModelScorer
from donkey_aicc.web.cockpit_exchange import CockpitFeed
from tests.monitor_under_test import SETTINGS, make_bundle
from tests.web import cockpit_under_test as web

FRAME = np.full((12, 16, 3), 90, np.uint8)


@pytest.fixture(autouse=True)
def restless():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*jobs):
    """Run the jobs in threads of their own; the first error of any is raised here."""
    errors = []

    def caught(job):
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors
    assert not any(thread.is_alive() for thread in threads)


def test_buttons_from_many_threads_against_the_loop(caplog):
    control = InjectionControl(rate_hz=20.0, arm_s=5.0)
    sensor, command = AnomalyInjector(control, "sensor"), AnomalyInjector(control, "command", max_throttle=0.5)

    def press(seed):
        rng = np.random.default_rng(seed)
        actions = [control.arm, control.stop, control.cycle, lambda: control.press("dark"), lambda: control.inject("bias", 3)]
        for _ in range(150):
            with contextlib.suppress(AiccError):  # not armed: said to whoever pressed
                actions[rng.integers(len(actions))]()

    def loop():
        for tick in range(200):
            sensor.run(FRAME, "local", tick / 100)
            steering, throttle, name, severity, episode = command.run(0.5, 0.4, "local")
            assert -1.0 <= steering <= 1.0 and -1.0 <= throttle <= 0.5
            assert (name == "") == (severity == 0) == (episode == -1)

    together(loop, *(lambda seed=seed: press(seed) for seed in range(6)))
    control.stop()
    assert sensor.run(FRAME, "local", 1) is FRAME
    assert command.run(0.5, 0.4, "local") == (0.5, 0.4, "", 0, -1)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


class DyingStream:
    """Scores at once; every few frames its thread dies."""

    frames = 0

    def take(self, frame, unseen=()):
        type(self).frames += 1
        if self.frames % 7 == 0:
            raise MemoryError("the thread dies")
        return SimpleNamespace(rho=0.5, delta=0.5, time_s=frame.time_s, state="ok", scores={}, grade="full")


def test_a_scorer_that_dies_again_and_again_is_restarted_and_leaves_no_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    now = [0.0]
    stood_in = {"intake": FrameIntake(clock=lambda: now[0]), "make_stream": lambda pause=None: DyingStream()}
    scorer = WorldModelScorer(Bundle.load(make_bundle(tmp_path / "bundle")), None, SETTINGS, **stood_in)
    before = threading.active_count()
    threading.Thread(target=scorer.update, daemon=True).start()
    done = threading.Event()

    def loop():
        try:
            for _ in range(100):
                now[0] += 0.5
                rho, delta, age_s, valid, *_ = scorer.run_threaded(FRAME + np.uint8(now[0] % 50), 0.1, 0.2)
                assert 0.0 <= rho <= 1.0 and 0.0 <= delta <= 1.0 and age_s >= 0.0 and (valid in (True, False))
                time.sleep(0.002)
        finally:
            done.set()

    def put_back():
        while not done.is_set():
            scorer.reset()
            newest = scorer.newest
            assert newest is None or newest.rho == 0.5
            time.sleep(0.001)

    together(loop, put_back)
    assert scorer.counts.restarts >= 2 and scorer.counts.frames_scored > 10
    scorer.shutdown()
    assert threading.active_count() <= before


def test_a_reader_of_the_cockpit_sees_one_tick_at_a_time():
    feed, done = CockpitFeed(), threading.Event()

    def loop():
        for number in range(1, 3000):
            feed.run(*[number] * len(feed.inputs))
        done.set()

    def read():
        while not done.is_set():
            seen = feed.latest
            assert seen is None or {seen.number} == set(seen.values)

    together(loop, read, read, read)


def test_viewers_that_come_and_go_leave_nothing_behind():
    cockpit, done = web.Cockpit(), threading.Event()

    async def look(port, seed):
        rng = np.random.default_rng(seed)
        for _ in range(6):
            async with web.client(port) as viewer:
                await viewer.next("tick")
                if rng.random() < 0.5:
                    await viewer.send({"do": "stop"})
                    await viewer.send("{nonsense")

    def loop():
        while not done.is_set():
            web.tick(cockpit.feed)
            time.sleep(0.005)

    driving = threading.Thread(target=loop)
    driving.start()
    try:
        with web.served(cockpit) as port:
            together(*(lambda seed=seed: asyncio.run(look(port, seed)) for seed in range(3)))
            ends_at = time.monotonic() + 10.0
            while cockpit.hub.viewers and time.monotonic() < ends_at:
                time.sleep(0.05)
            assert cockpit.hub.viewers == 0
    finally:
        done.set()
        driving.join()
