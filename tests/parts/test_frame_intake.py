"""Where a sequence begins, what counts as a frozen camera, and that the drive's time is the loop's."""

import numpy as np
import pytest

from donkey_aicc.parts.frame_intake import FrameIntake, SeenFrame, SequenceStart
from donkey_aicc.parts.monitor_stream import frame_of


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def picture(value):
    return np.full((120, 160, 3), value, np.uint8)


@pytest.fixture
def clock():
    return Clock()


def seen_after(intake, clock, *ticks):
    """ticks: (seconds since the tick before, image[, camera]) -> what was seen."""
    found = []
    for seconds, *images in ticks:
        clock.now += seconds
        found.append(intake.see(*images))
    return found


def test_frames_are_numbered_within_their_sequence(clock):
    intake = FrameIntake(clock=clock)
    ticks = [(0.05, picture(value)) for value in range(3)]
    found = seen_after(intake, clock, *ticks, (0.5, picture(3)), (0.51, picture(4)))
    assert [seen.number for seen in found] == [0, 1, 2, 3, 0]  # exactly half a second still goes on
    assert [seen.time_s for seen in found[:2]] == pytest.approx([100.05, 100.10])
    assert seen_after(intake, clock, (0.05, picture(6)))[0].number == 1
    intake.reset()
    assert [seen.number for seen in seen_after(intake, clock, (0.05, picture(7)), (0.05, picture(8)))] == [0, 1]


@pytest.mark.parametrize("lost", [None, "no picture"])
def test_a_lost_picture_is_a_gap_in_its_sequence_and_a_long_gap_ends_it(clock, lost):
    intake = FrameIntake(clock=clock)
    found = seen_after(intake, clock, (0.05, picture(1)), (0.05, lost), (0.05, lost), (0.05, picture(2)))
    assert [seen.number for seen in found] == [0, 1, 2, 3]
    assert found[1].image is found[2].image is found[0].image and found[1].state == "" and found[1].trouble
    assert [clock.now - seen.usable_s for seen in found] == pytest.approx([0.15, 0.15, 0.15, 0.0])
    found = seen_after(intake, clock, *[(0.1, lost)] * 7, (0.05, picture(3)))
    assert [seen.number for seen in found] == [4, 5, 6, 7, 8, 0, 0, 0]
    assert found[4].image is not None and found[5].image is None and found[5].state


def test_a_camera_that_goes_through_a_few_old_pictures_gives_nothing_new(clock):
    """It alternated between two, and each was compared with the one before only."""
    intake, rng = FrameIntake(clock=clock), np.random.default_rng(0)
    few = [rng.integers(0, 256, (120, 160, 3)).astype(np.uint8) for _ in range(4)]
    found = seen_after(intake, clock, *[(0.05, few[tick % 4]) for tick in range(40)])
    assert found[-1].fresh_s == found[-1].new_s == found[3].time_s and found[-1].state == "camera frozen"
    assert seen_after(intake, clock, (0.05, picture(0)))[0].state == ""


def test_a_grey_level_of_noise_is_fresh_but_not_new_and_a_slow_turn_is_new(clock):
    intake, rng = FrameIntake(clock=clock), np.random.default_rng(0)
    still = rng.integers(9, 240, (120, 160, 3)).astype(np.uint8)
    still = np.repeat(np.repeat(still[::8, ::8], 8, axis=0), 8, axis=1)
    noisy = [(0.05, (still + rng.integers(-1, 2, still.shape)).astype(np.uint8)) for _ in range(30)]
    found = seen_after(intake, clock, *noisy)
    assert found[-1].fresh_s == found[-1].time_s and found[-1].new_s == found[0].time_s
    turning = seen_after(intake, clock, *[(0.05, np.roll(still, shift, axis=1)) for shift in range(1, 31)])
    assert turning[-1].time_s - turning[-1].new_s < 0.11, "a pixel of 160 a tick"


def test_a_drive_in_ticks_does_not_follow_the_clock(clock):
    intake = FrameIntake(tick_s=0.05, clock=clock)
    found = seen_after(intake, clock, (9.0, picture(0)), (9.0, picture(1)), *[(0.0, picture(2))] * 12)
    assert [seen.number for seen in found] == list(range(14))
    assert [seen.state for seen in found] == [""] * 12 + ["camera frozen"] * 2  # ten ticks of 0.05 s


def test_time_spent_on_scoring_is_no_gap(clock):
    intake = FrameIntake(clock=clock)
    seen_after(intake, clock, (0.0, picture(0)))
    clock.now += 7.0
    intake.leave_out(7.0)
    assert intake.now() == pytest.approx(100.0)
    assert seen_after(intake, clock, (0.1, picture(1)))[0].number == 1


@pytest.mark.parametrize("still", [picture(7), None])
def test_a_picture_that_stays_the_same_or_away_is_told_after_half_a_second(clock, still):
    intake = FrameIntake(clock=clock)
    found = seen_after(intake, clock, (0.05, picture(1)), (0.05, still), (0.25, still), (0.26, still), (0.05, picture(2)))
    assert [seen.state for seen in found] == ["", "", "", "no image" if still is None else "camera frozen", ""]


def test_noise_that_was_injected_does_not_hide_a_camera_that_stands_still(clock):
    intake = FrameIntake(clock=clock)
    ticks = [(0.2, picture(value), picture(9)) for value in range(4)]
    assert [seen.state for seen in seen_after(intake, clock, *ticks)] == ["", "", "", "camera frozen"]


def test_what_cannot_be_used_is_told_and_logged_once(clock, caplog):
    intake = FrameIntake(clock=clock)
    found = seen_after(intake, clock, *[(0.05, "picture")] * 3, (0.05, np.zeros((1, 2, 7))))
    assert [(seen.image, seen.number, seen.state) for seen in found] == [(None, 0, "bad image")] * 4 and len(caplog.records) == 2


def test_a_frame_that_was_seen_is_handed_on_and_the_part_gives_its_picture(clock):
    first, second = FrameIntake(clock=clock), FrameIntake(clock=clock)
    seen, image = first.run(picture(3))
    assert second.see(seen) is seen and image is seen.image and image.shape == (64, 64, 3) and (image == 3).all()
    assert second.see(picture(4)).number == 0  # it did not count


def test_nothing_goes_into_the_next_drive(clock):
    intake = FrameIntake(clock=clock)
    first = seen_after(intake, clock, *[(0.3, picture(1))] * 3)
    intake.leave_out(5.0)
    intake.shutdown()
    second = seen_after(intake, clock, *[(0.3, picture(1))] * 3)
    assert [(seen.number, seen.state) for seen in second] == [(seen.number, seen.state) for seen in first]
    assert intake.now() == clock.now


def test_a_hit_is_the_last_frame_of_its_sequence(clock):
    intake = FrameIntake(clock=clock)
    part = SequenceStart(intake)
    numbers = []
    for hit in (False, None, True, False):
        numbers += [seen.number for seen in seen_after(intake, clock, (0.05, picture(len(numbers))))]
        part.run(hit)
    assert numbers == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("command", "frame", "state"),
    [
        ((0.5, -0.2), (0.5, -0.2), ""),
        ((3.0, -3.0), (1.0, -1.0), ""),
        ((None, 0.2), None, "no command"),
        ((0.1, None), None, "no command"),
        ((0.1, float("nan")), None, "not finite"),
        (("left", 0.2), None, "not finite"),
    ],
)
def test_picture_and_command_make_the_frame_to_score(command, frame, state):
    seen = SeenFrame(4.0, picture(0), 3)
    made, said = frame_of(seen, *command)
    assert said == state and (made is None) == (frame is None)
    if frame is not None:
        assert (made.steering, made.throttle) == frame and (made.time_s, made.number, made.starts_sequence) == (4.0, 3, False)
        assert made.command.tolist() == [list(frame)] and frame_of(SeenFrame(4.0, picture(0), 0), *command)[0].starts_sequence
    assert frame_of(SeenFrame(4.0, None, 0, "no image"), *command) == (None, "no image")
