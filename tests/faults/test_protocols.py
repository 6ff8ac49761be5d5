"""The tables of severities and the faults that play them."""

from dataclasses import astuple, fields

import cv2
import numpy as np
import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.fault import make_fault
from donkey_aicc.faults.protocols import (
    COMMAND_FAULTS,
    D_AUG_DRIVEN,
    FAULTS,
    FIELD_FAULTS,
    PHYSICAL_FAULTS,
    PROTOCOLS,
    SEVERITIES,
    SOUND,
    VISUAL_FAULTS,
    Body,
    all_at_once,
    for_tests_only,
    in_software,
    parameters,
    refuse_physical,
)

SENSOR_SIDE = ("dark", "blur", "latency", *VISUAL_FAULTS, *FIELD_FAULTS)
COMMAND_SIDE = ("bias", "latency", *COMMAND_FAULTS)
EVERY = [(fault, severity) for fault in FAULTS for severity in SEVERITIES]


def frame(seed: int = 0, shape: tuple[int, ...] = (120, 160, 3)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def numbered(count: int) -> list[np.ndarray]:
    """Frames that say in every pixel when they were taken."""
    return [np.full((4, 8, 3), number, np.uint8) for number in range(count)]


def stream(fault, count: int) -> list[int]:
    return [int(fault.sensor.run(image)[0, 0, 0]) for image in numbered(count)]


@pytest.mark.parametrize("protocol", FAULTS)
def test_every_step_up_in_severity_makes_no_parameter_milder(protocol):
    rows = [FAULTS[protocol][severity] for severity in SEVERITIES]
    milder_when_larger = {"luminance_factor", "freeze_every_s", "grip", "steering_gain"}
    for low, high in zip(rows, rows[1:], strict=False):
        for field, before, after in zip(fields(low), astuple(low), astuple(high), strict=True):
            assert (after <= before) if field.name in milder_when_larger else (after >= before)
        assert low != high


@pytest.mark.parametrize(("protocol", "severity"), EVERY)
def test_camera_array_is_never_written_and_never_handed_on(protocol, severity):
    fault = make_fault(protocol, severity)
    assert (fault.sensor is not None) == (protocol in SENSOR_SIDE)
    assert (fault.command is not None) == (protocol in COMMAND_SIDE)
    assert (fault.body is not None) == (protocol in PHYSICAL_FAULTS)
    if fault.sensor is None:
        return
    image = frame()
    image.setflags(write=False)
    for _ in range(30):
        seen = fault.sensor.run(image)
        assert seen.shape == image.shape and seen.dtype == image.dtype
        assert not np.shares_memory(seen, image)
        seen[:] = 0  # a reader may write into what it got
    assert np.array_equal(image, frame())


@pytest.mark.parametrize("shape", [(120, 160), (120, 160, 1), (61, 81, 3), (240, 320, 3)])
@pytest.mark.parametrize("protocol", SENSOR_SIDE)
def test_any_camera_size_and_depth(protocol, shape):
    assert make_fault(protocol, 5).sensor.run(frame(shape=shape)).shape == shape


def test_dark_scales_luminance():
    image = frame()
    seen = make_fault("dark", 3, overrides={"luminance_factor": 0.5}).sensor.run(image)
    assert np.abs(seen - image * 0.5).max() <= 0.5


def test_exposure_fights_the_dark_late_not_wholly_and_at_the_price_of_noise():
    image = np.full((60, 80, 3), 120, np.uint8)
    fault = make_fault("dark", 3, overrides={"luminance_factor": 0.2})
    seen = [fault.sensor.run(image) for _ in range(60)]
    brightness = [one.mean() for one in seen]
    assert brightness[0] == 24 and brightness[5] < 0.9 * brightness[-1] < 0.9 * 120
    assert brightness[-1] == pytest.approx(2.5 * 24, abs=1) and seen[0].std() == 0 and 2 < seen[-1].std() < 6


def test_a_broken_car_is_broken_on_either_side_and_by_all_its_faults():
    pulls = [make_fault("one_wheel", 3, episode=episode).body.pull_per_m for episode in range(40)]
    assert 8 < sum(pull > 0 for pull in pulls) < 32
    both = all_at_once([Body(grip=0.5, pitch_deg=1.0), None, Body(grip=0.5, pitch_deg=2.0)])
    assert both == Body(grip=0.25, pitch_deg=3.0) and all_at_once([]) == SOUND


def test_the_car_is_faster_than_its_pilot_thinks():
    assert make_fault("speed_mismatch", 3).command.run(0.2, 0.5) == (0.2, 0.5 * parameters("speed_mismatch", 3).throttle_factor)
    assert make_fault("speed_mismatch", 5).command.run(0.2, 0.0)[1] == 0.0


def test_driven_faults_share_no_family_with_the_test_protocols():
    assert not set(D_AUG_DRIVEN) & set(PROTOCOLS)
    kinds = {name: {type(row) for row in FAULTS[name].values()} for name in FAULTS}
    assert not set().union(*(kinds[name] for name in D_AUG_DRIVEN)) & set().union(*(kinds[name] for name in PROTOCOLS))
    image = cv2.GaussianBlur(frame(), (0, 0), 3.0)
    for name in VISUAL_FAULTS:  # no change of brightness
        seen = make_fault(name, 3).sensor.run(image)
        assert abs(float(seen.mean()) - float(image.mean())) < 6, name


def test_what_cameras_of_the_field_suffer_from_is_for_tests_only():
    assert for_tests_only(["frame_drop", "fog", "frozen+grip", "occlusion", "over_exposure"]) == sorted(FIELD_FAULTS)


def test_a_share_of_the_pictures_is_lost_and_the_last_one_comes_again():
    seen = stream(make_fault("frame_drop", 3, seed=1), 250)
    lost = np.flatnonzero(np.array(seen) != np.arange(250))
    assert 0.12 < len(lost) / 250 < 0.28 and all(seen[tick] == seen[tick - 1] for tick in lost)
    assert stream(make_fault("frame_drop", 3, overrides={"drop_share": 0.0}), 100) == list(range(100))
    with pytest.raises(ConfigError, match="frame_drop drop_share must be from 0 to 1, got 1.5"):
        make_fault("frame_drop", 3, overrides={"drop_share": 1.5})


def test_a_frozen_feed_stands_for_its_seconds_and_goes_on_with_what_is_current():
    for rate_hz in (20, 60):
        sensor = make_fault("frozen", 3, rate_hz=rate_hz).sensor
        shown = np.array(
            [sensor.run(np.full((2, 2, 3), tick % 256, np.uint8))[0, 0, 0] for tick in range(30 * rate_hz)], dtype=int
        )
        ticks = np.arange(len(shown)) % 256
        late = np.flatnonzero(shown != ticks)
        runs = np.split(late, np.flatnonzero(np.diff(late) > 1) + 1)
        assert 2 <= len(runs) <= 7 and {len(run) for run in runs[:-1]} == {rate_hz}


def test_dirt_stays_where_it_is_and_covers_its_share():
    picture = np.full((120, 160, 3), 200, np.uint8)
    dirt = make_fault("occlusion", 4, seed=5).sensor
    first, second = dirt.run(picture), dirt.run(picture)
    assert np.array_equal(first, second) and 0.3 < (first[..., 0] < 140).mean() < 0.4 and (first == 200).mean() > 0.4
    assert not np.array_equal(first, make_fault("occlusion", 4, seed=6).sensor.run(picture))


def test_too_much_light_turns_what_is_bright_white():
    image = np.array([[[10, 60, 200]]], np.uint8)
    assert make_fault("over_exposure", 2).sensor.run(image).ravel().tolist() == [20, 120, 255]


def test_what_acts_on_the_car_itself_is_refused_by_name():
    assert set(in_software()) == set(FAULTS) - set(PHYSICAL_FAULTS)
    for name in PHYSICAL_FAULTS:
        with pytest.raises(ConfigError, match=f"{name} acts on the car itself"):
            refuse_physical(name)
    refuse_physical("fog")


def test_blur_sigma_follows_the_frame_width():
    image = frame(shape=(240, 320, 3))
    for severity in SEVERITIES:
        fault = make_fault("blur", severity)
        wanted = cv2.GaussianBlur(image.astype(np.float32), (0, 0), 2 * fault.sensor.sigma_px)
        inner = slice(40, -40)
        error = np.abs(fault.sensor.run(image) - wanted)[inner, inner].mean()
        assert error < 0.1 * np.abs(image - wanted)[inner, inner].mean()


def test_bias_is_an_offset_to_one_side_plus_noise():
    fault = make_fault("bias", 3, seed=1)
    played = np.array([fault.command.run(0.1, 0.3) for _ in range(4000)])
    row = parameters("bias", 3)
    assert played.mean(axis=0) == pytest.approx(
        [0.1 + fault.command.side * row.steering_offset, 0.3 + row.throttle_offset], abs=0.01
    )
    assert played.std(axis=0) == pytest.approx([row.steering_noise_std, row.throttle_noise_std], rel=0.1)


def test_bias_side_is_drawn_per_episode():
    sides = [make_fault("bias", 1, seed=0, episode=episode).command.side for episode in range(40)]
    assert 8 < sides.count(1.0) < 32


def test_bias_does_not_start_a_standing_car():
    assert make_fault("bias", 5).command.run(0.0, 0.0)[1] == 0.0


def test_latency_delays_frames_within_its_limits_and_never_goes_back():
    fault = make_fault("latency", 3, rate_hz=20, overrides={"freeze_s": 0.0})
    row = parameters("latency", 3)
    shown = stream(fault, 200)
    delays = np.arange(200) - shown
    settled = delays[10:]
    assert settled.min() >= round(row.delay_min_s * 20) - 1 and settled.max() <= round(row.delay_max_s * 20) + 1
    assert len(set(settled)) > 1
    assert (np.diff(shown) >= 0).all()


def test_latency_freezes_the_feed_for_the_set_time_then_resumes():
    calm = {"delay_min_s": 0.0, "delay_max_s": 0.0}
    shown = stream(make_fault("latency", 4, rate_hz=20, overrides=calm), 250)
    repeats, runs = 0, []
    for before, after in zip(shown, shown[1:], strict=False):
        if after == before:
            repeats += 1
        elif repeats:
            runs.append(repeats)
            assert after - before == repeats + 1  # back to the current frame at once
            repeats = 0
    assert len(runs) >= 2 and set(runs) == {round(parameters("latency", 4).freeze_s * 20)}


def test_latency_holds_the_first_command_then_is_late():
    fault = make_fault("latency", 1, rate_hz=20, overrides={"command_delay_s": 0.15})
    assert [fault.command.run(tick / 10, 0.2)[0] for tick in range(6)] == [0.0, 0.0, 0.0, 0.0, 0.1, 0.2]


@pytest.mark.parametrize(("protocol", "severity"), EVERY)
def test_same_seed_and_episode_same_fault_and_reset_plays_it_again(protocol, severity):
    def play(fault):
        images = [fault.sensor.run(frame(tick, (12, 16, 3))) for tick in range(60)] if fault.sensor else []
        commands = [fault.command.run(tick / 60, 0.3) for tick in range(60)] if fault.command else []
        return np.array(images), np.array(commands)

    first = make_fault(protocol, severity, seed=4, episode=2)
    images, commands = play(first)
    first.reset()
    for fault in (first, make_fault(protocol, severity, seed=4, episode=2)):
        again = play(fault)
        assert np.array_equal(images, again[0]) and np.array_equal(commands, again[1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("smoke", 1), "fault must be one of dark, blur, bias, latency, jpeg, .*; got 'smoke'"),
        (("fog", 1, {"strength": 1.5}), "fog strength must be from 0 to 1, got 1.5"),
        (("grip", 1, {"grip": 0.0}), "grip grip must be from 0.01 to 10, got 0.0"),
        (("dark", 6), "severity of dark must be one of 1, 2, 3, 4, 5; got 6"),
        (("dark", 1, {"sigma_px": 1.0}), "parameter of dark must be one of luminance_factor; got 'sigma_px'"),
        (("blur", 1, {"sigma_px": float("nan")}), "blur sigma_px must be a finite number >= 0, got nan"),
        (("latency", 1, {"delay_min_s": 3.0}), "latency delay_min_s must be <= delay_max_s, got 3.0 > 0.2"),
        (("latency", 1, {"freeze_every_s": 0.1}), "latency freeze_every_s must be > freeze_s, got 0.1 <= 0.5"),
    ],
)
def test_mistakes_are_named(arguments, words):
    with pytest.raises(ConfigError, match=words.replace("|", r"\|")):
        parameters(*arguments)
