"""A stop is a brake to standstill and then neutral: driven on the simulated car, by every way to know that it stands."""

import math

import pytest

from donkey_aicc.alarm.brake import COASTS, SIMULATED, Brake, BrakeSettings
from donkey_aicc.errors import ConfigError
from donkey_aicc.limits import ESC_KINDS, NEUTRAL_FIRST
from donkey_aicc.simulator.vehicle import Vehicle, VehicleConfig

CRUISE, CRAWL, DT = 0.42, 0.25, 0.05


def stop(before, settings=SIMULATED, *, speed=True, picture=False, esc="direct", seconds=3.0):
    """before: (throttle, seconds) driven until then -> (metres to standstill, fastest backwards m/s, throttles sent)."""
    car, now = Vehicle(VehicleConfig(speed_controller=esc)), 0.0
    brake = Brake(settings, CRUISE)
    for throttle, lasts in before:
        for _ in range(round(lasts / DT)):
            brake.note(now, throttle)
            car.step(0.0, throttle, DT)
            now += DT
    began, moved_s, sent, backwards = car.x, now, [], 0.0
    for _ in range(round(seconds / DT)):
        moved_s = now if abs(car.speed) > 0.05 else moved_s
        sent.append(brake.step(now, car.speed if speed else None, now - moved_s if picture else None))
        brake.note(now, sent[-1])
        car.step(0.0, sent[-1], DT)
        now, backwards = now + DT, max(backwards, -car.speed)
    assert abs(car.speed) < 0.05 and sent[-1] == 0.0
    return car.x - began, backwards, sent


def test_from_cruise_a_stop_takes_a_quarter_of_a_metre_and_coasting_twice_as_much():
    metres, backwards, sent = stop([(CRUISE, 4.0)])
    assert metres <= 0.25 and backwards < 0.02 and set(sent) == {-0.8, 0.0}
    assert stop([(CRUISE, 4.0)], COASTS)[0] > 0.5
    assert stop([(CRAWL, 4.0)])[0] <= 0.12


@pytest.mark.parametrize("known", [{}, {"speed": False, "picture": True}, {"speed": False}])
@pytest.mark.parametrize(
    "before", [[(CRUISE, 4.0)], [(CRAWL, 4.0)], [(CRUISE, 0.2)], [(CRUISE, 2.0), (0.0, 1.0)], [(0.6, 4.0)], [(0.0, 1.0)]]
)
def test_no_stop_ends_in_reverse_however_fast_the_car_was_and_whatever_is_known(known, before):
    metres, backwards, _ = stop(before, **known)
    assert backwards < 0.03 and metres > -0.005


@pytest.mark.parametrize("esc", ESC_KINDS)
@pytest.mark.parametrize("speed", [True, False])
def test_every_kind_of_speed_controller_stops_and_none_reverses(esc, speed):
    settings = BrakeSettings(-0.8, 0.5 if esc != "direct" else 0.2, 0.1, esc)
    metres, backwards, _ = stop([(CRUISE, 4.0)], settings, speed=speed, esc=esc)
    assert metres <= 0.3 and backwards < 0.03


def test_one_that_reverses_after_neutral_is_not_braked_out_of_neutral():
    """A pilot that has let go of the throttle: the same push would send the rolling car backwards."""
    settings = BrakeSettings(-0.8, 0.5, 0.1, NEUTRAL_FIRST)
    assert set(stop([(CRUISE, 3.0), (0.0, 0.2)], settings, esc=NEUTRAL_FIRST)[2]) == {0.0}
    wrong = BrakeSettings(-0.8, 0.5, 0.1)  # what the brake test is for
    assert stop([(CRUISE, 3.0), (0.0, 0.2)], wrong, esc=NEUTRAL_FIRST, speed=False)[1] > 0.2


def test_one_push_per_stop_and_a_release_makes_the_next_one_new():
    brake = Brake(SIMULATED, CRUISE)
    for tick in range(60):
        brake.note(tick * DT, CRUISE)
    sent = [brake.step(3.0 + tick * DT, 1.2 - 0.2 * tick) for tick in range(6)] + [brake.step(3.5, 1.0)]
    assert sent[0] == -0.8 and brake.over and sent[-1] == 0.0, "rolling again by a slope is no reason for a second push"
    brake.release()
    assert brake.step(4.0, 1.2) == -0.8


def test_a_frozen_sensor_or_a_frozen_picture_ends_with_the_time():
    for given in ({"speed_mps": 1.2}, {"still_s": 9.0}):
        brake = Brake(SIMULATED, CRUISE)
        for tick in range(60):
            brake.note(tick * DT, CRUISE)
        sent = [brake.step(3.0 + tick * DT, **given) for tick in range(20)]
        assert 4 <= sum(throttle < 0.0 for throttle in sent) <= 8


def test_a_sensor_that_cannot_tell_backwards_ends_the_brake_when_the_car_gets_faster_again():
    brake = Brake(BrakeSettings(-0.8, 2.0), CRUISE)
    sent = [brake.step(tick * DT, speed) for tick, speed in enumerate([1.2, 1.1, 0.7, 0.3, 0.2, 0.35, 0.6])]
    assert sent == [-0.8] * 5 + [0.0] * 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((0.5,), "AICC_BRAKE_THROTTLE must be from -1 to 0"),
        ((-0.5, math.inf), "AICC_BRAKE_S must be"),
        ((-0.5, 1, 0, "x"), "KIND"),
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong, said):
    with pytest.raises(ConfigError, match=said):
        BrakeSettings(*wrong)
