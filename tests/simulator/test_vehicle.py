import math
from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.simulator.vehicle import Vehicle, VehicleConfig

STEADY = VehicleConfig(wander_std=0.0, motor_noise_std=0.0, yaw_noise_std=0.0, servo_jitter_std=0.0)
DT = 0.05


def drive(car: Vehicle, steering: float, throttle: float, seconds: float) -> np.ndarray:
    """(T, 4): x, y, speed, yaw rate."""
    rows = []
    for _ in range(round(seconds / DT)):
        car.step(steering, throttle, DT)
        rows.append((car.x, car.y, car.speed, car.yaw_rate))
    return np.array(rows)


def test_straight_ahead_stays_straight():
    car = Vehicle(STEADY)
    drive(car, 0.0, 0.5, 3.0)
    assert car.x > 2.0 and car.y == 0.0 and car.yaw == 0.0


def test_cruising_throttle_gives_track_speed():
    for throttle, low, high in ((0.4, 1.0, 1.3), (0.5, 1.2, 1.6)):
        assert low < drive(Vehicle(STEADY), 0.0, throttle, 5.0)[-1, 2] < high


def test_right_is_clockwise():
    right, left = Vehicle(STEADY), Vehicle(STEADY)
    drive(right, 0.5, 0.4, 0.8)
    drive(left, -0.5, 0.4, 0.8)
    assert right.yaw < -0.1 and right.y < 0
    assert left.yaw == pytest.approx(-right.yaw) and left.y == pytest.approx(-right.y)


def test_full_lock_at_walking_pace_turns_on_its_turning_radius():
    path = drive(Vehicle(STEADY), -1.0, 0.12, 20.0)[-60:]
    radius = path[:, 2].mean() / path[:, 3].mean()
    assert radius == pytest.approx(STEADY.turning_radius_m, rel=0.02)


def test_understeers_when_fast():
    slow, fast = (drive(Vehicle(STEADY), -0.6, throttle, 8.0)[-40:] for throttle in (0.2, 1.0))
    slow_radius, fast_radius = (path[:, 2].mean() / path[:, 3].mean() for path in (slow, fast))
    assert fast_radius > 1.5 * slow_radius
    assert (fast[:, 2] * fast[:, 3]).max() <= STEADY.grip_mps2 + 1e-6


def test_servo_lags_and_is_rate_limited():
    car = Vehicle(STEADY)
    car.step(1.0, 0.0, DT)
    assert 0.0 < car.steering <= STEADY.servo_rate_per_s * DT
    drive(car, 1.0, 0.0, 0.5)
    assert car.steering > 0.98


def test_coasts_to_a_stop_and_stays():
    car = Vehicle(STEADY)
    drive(car, 0.0, 0.5, 2.0)
    drive(car, 0.0, 0.0, 10.0)
    assert car.speed == 0.0
    before = car.x
    drive(car, 0.0, 0.0, 1.0)
    assert car.x == before


def test_reverses():
    car = Vehicle(STEADY)
    drive(car, 0.0, -0.5, 2.0)
    assert car.x < -0.5 and car.speed < 0


def test_wander_is_slow_and_has_its_spread():
    config = VehicleConfig()
    car = Vehicle(config, np.random.default_rng(3))
    wander = []
    for _ in range(12_000):
        car.step(0.0, 0.0, DT)
        wander.append(car.wander)
    series = np.array(wander)
    assert series.std() == pytest.approx(config.wander_std, rel=0.2)
    lag = round(1.0 / DT)
    correlation = np.corrcoef(series[:-lag], series[lag:])[0, 1]
    assert correlation == pytest.approx(math.exp(-1.0 / config.wander_time_s), abs=0.1)


@pytest.mark.parametrize("change", [{"wheelbase_m": 0.0}, {"wander_std": -0.1}, {"grip_mps2": math.nan}, {"max_steer_deg": 89.0}])
def test_impossible_car_is_refused(change):
    with pytest.raises(ConfigError, match=next(iter(change))):
        VehicleConfig(**change)


def pushed(kind: str, *scenes: tuple[float, float]) -> list[float]:
    """scenes: (throttle, seconds) after two seconds of driving -> the car's speed at the end of each."""
    car = Vehicle(replace(STEADY, speed_controller=kind))
    drive(car, 0.0, 0.42, 2.0)
    return [float(drive(car, 0.0, throttle, seconds)[-1, 2]) for throttle, seconds in scenes]


@pytest.mark.parametrize(
    ("kind", "held", "rolling", "second", "third"),
    [("direct", -1.0, -1.0, -1.0, -1.0), ("neutral_first", 0.0, -1.0, -1.0, -1.0), ("double_tap", 0.0, 0.0, -1.0, -1.0)],
)
def test_what_a_push_back_does_depends_on_the_speed_controller(kind, held, rolling, second, third):
    """Held out of forward; given while the car rolls in neutral; a second and a third push with neutral between."""
    back, neutral = (-0.6, 1.5), (0.0, 0.1)
    assert np.sign(round(pushed(kind, back)[-1], 2)) == held
    assert np.sign(round(pushed(kind, neutral, back)[-1], 2)) == rolling
    assert np.sign(round(pushed(kind, back, neutral, back)[-1], 2)) == second
    assert np.sign(round(pushed(kind, back, neutral, back, neutral, back)[-1], 2)) == third
    assert pushed(kind, back, (0.5, 2.0))[-1] > 0.8, "forward is forward again"


def test_one_that_brakes_stops_the_car_without_the_motor():
    assert pushed("double_tap", (-0.8, 0.5)) == [0.0]
    with pytest.raises(ConfigError, match="speed_controller must be one of direct, neutral_first, double_tap"):
        VehicleConfig(speed_controller="magic")
