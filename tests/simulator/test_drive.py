"""Drives with a marshal: what is injected when, and what happens after a departure."""

import pytest

from donkey_aicc.faults.fault import make_fault
from donkey_aicc.simulator.drivers import Expert, ExpertDriver
from donkey_aicc.simulator.driving import Marshal, drive
from donkey_aicc.simulator.world import World


class StraightAhead:
    """Leaves every track at the first corner."""

    def run(self, image, observation):
        return 0.0, 0.5


@pytest.fixture()
def world():
    return World("oval", seed=3)


def test_expert_drives_one_segment_without_a_fault(world):
    ticks = list(drive(world, ExpertDriver(Expert(world.track)), 150))
    assert len(ticks) == 150
    assert {tick.segment for tick in ticks} == {0}
    assert {tick.mode for tick in ticks} == {"local"}
    assert all(tick.fault is None and tick.episode == -1 for tick in ticks)


def test_record_belongs_together(world):
    """What is sent in a tick moves the car in the next one, and the frame is the one seen before."""
    ticks = list(drive(world, ExpertDriver(Expert(world.track)), 20))
    again = World("oval", seed=3)
    here = again.observe()
    for tick in ticks:
        assert tick.observation.cte_m == here.cte_m
        here = again.step(*tick.sent)


def test_fault_starts_after_the_warm_up_and_corrupts_what_the_driver_sees(world):
    marshal = Marshal(warm_up_frames=10)
    ticks = list(drive(world, ExpertDriver(Expert(world.track)), 30, lambda episode: make_fault("dark", 5), marshal))
    assert [tick.fault is not None for tick in ticks] == [False] * 10 + [True] * 20
    assert {tick.episode for tick in ticks[10:]} == {0}
    assert ticks[15].image.mean() < 0.3 * ticks[15].observation.image.mean()
    assert ticks[5].image is ticks[5].observation.image


def test_departure_ends_the_fault_waits_and_starts_a_new_segment(world):
    marshal = Marshal(wait_frames=5, warm_up_frames=8)
    ticks = list(drive(world, StraightAhead(), 400, lambda episode: make_fault("bias", 1), marshal))
    assert ticks[-1].segment >= 1
    waiting = [tick for tick in ticks if tick.mode == "user"]
    assert waiting
    assert all(tick.fault is None and tick.sent == (0.0, 0.0) for tick in waiting)
    first_of_second = next(tick for tick in ticks if tick.segment == 1)
    assert abs(first_of_second.observation.cte_m) < 0.05
    assert first_of_second.fault is None
