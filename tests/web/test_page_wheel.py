"""Driving from the cockpit: it is the user's steering, and whoever stops speaking lets go."""

from types import SimpleNamespace

import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.web.page_wheel import PageHalt, PageWheel


@pytest.fixture
def car():
    """What donkeycar's web application holds, and a clock to turn."""
    return SimpleNamespace(angle=0.0, throttle=0.0, now=100.0)


@pytest.fixture
def wheel(car):
    return PageWheel(car, lambda: car.now)


def said(car):
    return car.angle, car.throttle


def test_a_page_that_falls_silent_lets_go_in_the_drive_loop(car, wheel):
    wheel.steer({"do": "drive", "angle": -0.5, "throttle": 0.3})
    for _ in range(4):
        car.now += 0.1
        wheel.run()
        assert said(car) == (-0.5, 0.3)
    wheel.steer({"angle": 1, "throttle": 0.2})
    car.now += 0.4
    wheel.run()
    assert said(car) == (1.0, 0.2)
    car.now += 0.2
    wheel.run()
    assert said(car) == (0.0, 0.0)


def test_a_page_that_goes_and_a_drive_that_ends_let_go(car, wheel):
    for end in (wheel.let_go, wheel.shutdown):
        wheel.steer({"angle": 0.1, "throttle": 0.3})
        end()
        assert said(car) == (0.0, 0.0)


def test_what_donkeycars_own_page_steers_is_left_alone(car, wheel):
    car.angle, car.throttle = 0.2, 0.4
    car.now += 100.0
    wheel.run()
    wheel.let_go()
    assert said(car) == (0.2, 0.4)


def test_donkeycars_page_is_heard_and_falls_silent_too(car, wheel):
    """It left the user's throttle at .6 when it was closed."""
    car.angle, car.throttle = 0.2, 0.6
    wheel.heard()
    car.now += 0.51
    wheel.run()
    assert said(car) == (0.0, 0.0)


def test_the_silence_can_be_set_and_switched_off(car):
    for silence_s, held in ((0.2, 0.0), (0.0, 0.6)):
        wheel = PageWheel(car, lambda: car.now, silence_s=silence_s)
        car.throttle = 0.6
        wheel.heard()
        car.now += 0.3
        wheel.run()
        assert car.throttle == held


@pytest.mark.parametrize("wrong", [None, "1", True, float("nan"), float("inf"), 1.01, [0.1]])
def test_nonsense_moves_nothing(car, wheel, wrong):
    for given in ({"angle": wrong, "throttle": 0.5}, {"angle": 0.5, "throttle": wrong}):
        with pytest.raises(AiccError, match="must be a number from -1 to 1"):
            wheel.steer(given)
        assert said(car) == (0.0, 0.0)


def test_whoever_looks_stops_the_car_and_only_a_person_who_lets_go_first_drives_on():
    app = SimpleNamespace(mode="local", mode_latch=None, angle=0.4, throttle=0.3, now=0.0)
    halt = PageHalt(app, lambda: app.now)
    assert halt.run(0.5, "local", 0.0) == 0.5
    halt.halt()
    assert (app.mode, app.angle, app.throttle) == ("user", 0.0, 0.0)
    assert [halt.run(0.5, mode, 0.3) for mode in ("local", "user", "user")] == [0.0] * 3  # a stick that is still pushed
    app.now += 2.0
    assert halt.run(0.3, "user", 0.3) == 0.0 and halt.run(0.5, "local", 0.0) == 0.0
    assert halt.run(0.0, "user", 0.0) == 0.0 and not halt.halted
    assert halt.run(0.2, "user", 0.2) == 0.2 and halt.run(0.5, "local", 0.0) == 0.5
