"""The whole drive loop with the governor on, and a monitor that cannot see: whatever silenced it, the car is stopped."""

import numpy as np
import pytest

from donkey_aicc import channels
from donkey_aicc.nets.bundle import Bundle
from tests.reliability.test_own_faults import RATE_HZ, Car, bundle  # noqa: F401

WATCHED = [channels.ALARM, channels.ACTION, channels.REASON, channels.HEALTH]


class Governed(Car):
    """The pilot drives at .5 wherever the governor lets it."""

    def ticks(self, count):
        """[(what the motor got, alarm, action, reason, health)]"""
        told = []
        for _ in range(count):
            self.vehicle.update_parts()
            told.append((self.motor.sent, *self.vehicle.mem.get(WATCHED)))
        return told


@pytest.fixture
def car(tmp_path, bundle):  # noqa: F811
    return Governed(tmp_path, bundle, AICC_GOVERNOR="stop")


@pytest.fixture
def driving(car):
    assert car.ticks(3 * RATE_HZ)[-1][0] == 0.5
    return car


def ticks_until_stopped(told):
    return next(number for number, (sent, *_, action, _, _) in enumerate(told) if sent == 0.0 and action == "stopped")


def dark(frame):
    return (frame // 3).astype(np.uint8)


class EveryNth:
    """A camera that loses every n-th picture; donkeycar then hands out the one before."""

    def __init__(self, n, change):
        self.n, self.change, self.tick, self.last = n, change, 0, None

    def __call__(self, frame):
        self.tick += 1
        self.last = self.last if self.tick % self.n == 0 else self.change(frame)
        return self.last


@pytest.mark.parametrize("n", [4, 5, 9])
def test_steady_dropouts_hide_no_darkness(driving, n):
    """60 ticks without an alarm at full throttle: every lost picture began the windows anew."""
    driving.camera.gives = EveryNth(n, dark)
    told = driving.ticks(RATE_HZ)
    assert ticks_until_stopped(told) <= 12 and told[-1][3] == "the picture is much darker than in training"


def test_black_pictures_between_lost_ones_are_blindness(driving):
    driving.camera.gives = EveryNth(5, lambda frame: np.zeros_like(frame))
    assert ticks_until_stopped(driving.ticks(RATE_HZ)) <= 12


def test_a_tenth_lost_at_random_is_no_alarm(driving):
    rng, last = np.random.default_rng(1), []

    def lossy(frame):
        last[:] = last if last and rng.random() < 0.1 else [frame]
        return last[0]

    driving.camera.gives = lossy
    told = driving.ticks(20 * RATE_HZ)
    assert sum(level != "none" for _, level, *_ in told) <= 0.05 * len(told) and "stopped" not in {
        action for _, _, action, *_ in told
    }


@pytest.mark.parametrize("lost", [lambda frame: None, lambda frame: np.zeros((2, 2, 7))])
def test_a_camera_that_never_gives_a_picture_holds_the_car(car, lost):
    """60 ticks without an alarm at full throttle: what was never seen was never missed."""
    car.camera.gives = lost
    told = car.ticks(5 * RATE_HZ)
    assert {sent for sent, *_ in told} == {0.0} and told[0][2] == "waiting" and told[0][4].startswith("waiting: no picture yet")
    assert told[-1][1] == "danger" and told[-1][3].startswith("the monitor is blind (no picture yet")
    car.camera.gives = None
    assert car.ticks(2 * RATE_HZ)[-1][:3] == (0.5, "none", "full"), "a camera that comes late lets go by itself"


def test_a_net_that_never_works_holds_the_car_and_one_that_breaks_stops_it(car, monkeypatch):
    def broken(*_):
        raise RuntimeError("no encoder")

    monkeypatch.setattr(Bundle, "encode", broken)
    told = car.ticks(5 * RATE_HZ)
    assert {sent for sent, *_ in told} == {0.0} and told[-1][
        3
    ] == "the monitor is blind (no picture was scored yet (scorer down))"
    monkeypatch.undo()
    assert car.ticks(3 * RATE_HZ)[-1][0] == 0.5
    monkeypatch.setattr(Bundle, "encode", broken)
    told = car.ticks(3 * RATE_HZ)
    assert told[1][1] == "watch" and ticks_until_stopped(told) <= 1.6 * RATE_HZ


@pytest.mark.parametrize("few", [1, 2, 4])
def test_a_camera_that_goes_through_a_few_old_pictures_stops_the_car(driving, few):
    """It alternated between its last two: no alarm, and the car left its lane."""
    rng = np.random.default_rng(2)
    old = [rng.integers(60, 200, (120, 160, 3)).astype(np.uint8) for _ in range(few)]
    ticks = iter(range(10**6))
    driving.camera.gives = lambda _: old[next(ticks) % few]
    told = driving.ticks(RATE_HZ)
    assert ticks_until_stopped(told) <= 12 + few and told[-1][3].startswith(
        "the monitor is blind (the camera repeats old pictures"
    )


def test_a_frozen_picture_with_a_grey_level_of_noise_is_a_stop_and_not_a_crawl(driving):
    still = np.repeat(np.repeat(np.random.default_rng(3).integers(60, 200, (12, 16, 3)), 10, axis=0), 10, axis=1)
    driving.camera.gives = lambda frame: (still + frame % 3 - 1).astype(np.uint8)
    told = driving.ticks(RATE_HZ)
    assert ticks_until_stopped(told) <= 14
    assert told[13][3] == "the monitor is blind (the picture does not change although the wheels are driven)"


def test_nobody_at_the_wheel_is_ever_held(car):
    car.camera.gives, car.vehicle.mem[channels.MODE] = (lambda frame: None), "user"
    assert {sent for sent, *_ in car.ticks(5 * RATE_HZ)} == {0.5}
