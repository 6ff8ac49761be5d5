"""The offset between video and tub, on simulated drives whose path is known without any picture."""

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.overhead.alignment import align
from donkey_aicc.simulator.drivers import Expert
from donkey_aicc.simulator.tracks import make_track
from donkey_aicc.simulator.vehicle import Vehicle, VehicleConfig

FRAME_S = 0.05
VIDEO_HZ = 30.0


def drive(seconds, seed=0, vehicle=None, **expert_settings):
    """(n, 2) metres and (n, 2) commands at 20 Hz, from rest."""
    track = make_track("loop")
    car = Vehicle(vehicle, np.random.default_rng(seed))
    car.place(*track.pose_at(0.0))
    expert = Expert(track, **expert_settings)
    places, commands = [], []
    for _ in range(round(seconds / FRAME_S)):
        command = expert.run(car.x, car.y, car.yaw, car.speed)
        places.append((car.x, car.y))
        commands.append(command)
        car.step(*command, FRAME_S)
    return np.array(places), np.array(commands)


def film(places, lead_s, seed=0):
    """Video times and measured places; the camera runs for lead_s before the drive."""
    times = np.arange(0.0, len(places) * FRAME_S + lead_s, 1 / VIDEO_HZ)
    at = np.arange(len(places)) * FRAME_S
    xy = np.stack([np.interp(times - lead_s, at, places[:, axis]) for axis in range(2)], axis=1)
    xy += np.random.default_rng(seed).normal(0.0, 0.002, xy.shape)
    xy[200:230] = np.nan  # a second out of sight
    return times, xy


def times_of(commands):
    return np.arange(len(commands)) * FRAME_S


@pytest.mark.parametrize("seed", [0, 1])
def test_the_offset_is_found_well_within_a_frame(seed):
    places, commands = drive(30, seed)
    times, xy = film(places, lead_s=2.37, seed=seed)
    found = align(times, xy, times_of(commands), commands)
    assert found.offset_s == pytest.approx(2.37, abs=0.02)
    assert found.throttle_correlation > 0.95
    assert found.residual_s < FRAME_S


def test_a_tub_that_began_before_the_video_has_a_negative_offset():
    places, commands = drive(40)
    times, xy = film(places, lead_s=0.0)
    found = align(times[:-180], xy[180:], times_of(commands), commands)
    assert found.offset_s == pytest.approx(-180 / VIDEO_HZ, abs=0.03)


def test_steering_alone_is_enough_when_the_throttle_never_changes():
    places, commands = drive(40, target_speed_mps=1.2, corner_speed_mps=1.2)
    times, xy = film(places, lead_s=1.0)
    found = align(times, xy, times_of(commands[120:]), commands[120:])  # recording began in full drive
    assert found.offset_s == pytest.approx(7.0, abs=FRAME_S)
    assert found.steering_correlation > 0.85


def test_another_cars_lags_move_the_offset_by_no_more_than_the_lag():
    places, commands = drive(30, vehicle=VehicleConfig(servo_lag_s=0.12, motor_lag_s=0.15))
    times, xy = film(places, lead_s=1.5)
    assert align(times, xy, times_of(commands), commands).offset_s == pytest.approx(1.5, abs=0.06)


def test_unequal_clocks_show_as_drift():
    places, commands = drive(60)
    times, xy = film(places, lead_s=1.0)
    found = align(times * 1.01, xy, times_of(commands), commands)
    assert found.drift_s > 0.2
    assert found.residual_s > FRAME_S


def test_another_drives_tub_is_refused():
    places, _ = drive(30)
    times, xy = film(places, lead_s=1.0)
    other = np.random.default_rng(5).uniform(-1, 1, (60, 2)).repeat(10, axis=0)  # somebody plays with the sticks
    with pytest.raises(AiccError, match="cannot be aligned"):
        align(times, xy, times_of(other), other)


def test_a_given_offset_is_judged_not_changed():
    places, commands = drive(30)
    times, xy = film(places, lead_s=1.0)
    right, wrong = (align(times, xy, times_of(commands), commands, offset_s) for offset_s in (1.0, 4.0))
    assert (right.offset_s, right.estimated) == (1.0, False)
    assert right.throttle_correlation > 0.95 > wrong.throttle_correlation
