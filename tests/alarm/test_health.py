"""Whether the monitor sees: stories in seconds, at every rate of the loop."""

import math
from dataclasses import replace

import pytest

from donkey_aicc.alarm.health import Glance, MonitorHealth

RATES_HZ = (10, 20, 30, 60)


class Story:
    """A drive whose camera and scorer do what the test says, seconds after seconds."""

    def __init__(self, rate_hz, throttle=0.3, **settings):
        self.rate_hz, self.tick, self.health = rate_hz, 0, MonitorHealth(**settings)
        self.last = Glance(0.0, math.nan, math.nan, math.nan, math.nan, throttle)

    def play(self, seconds, *, lost=lambda tick: False, repeated=lambda tick: False, still=False, scored=True, **changes):
        """Health of every tick."""
        said = []
        for _ in range(round(seconds * self.rate_hz)):
            self.tick += 1
            now = self.tick / self.rate_hz
            usable = now if not lost(self.tick) else self.last.usable_s
            fresh = now if usable == now and not repeated(self.tick) else self.last.fresh_s
            new = fresh if not still else self.last.new_s
            seen = Glance(now, usable, fresh, new, now if scored else self.last.scored_s, self.last.throttle)
            self.last = replace(seen, **changes)
            said.append(self.health.step(self.last))
        return said

    def seconds_until(self, word, seconds, **what):
        said = self.play(seconds, **what)
        return next((number / self.rate_hz for number, each in enumerate(said) if each.startswith(word)), None)


def always(tick):
    return True


@pytest.fixture(params=RATES_HZ)
def story(request):
    healthy = Story(request.param)
    assert healthy.play(3.0)[-1] == "ok"
    return healthy


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_half_a_second_of_sight_makes_it_well(rate_hz):
    said = Story(rate_hz).play(2.0)
    assert said[0] == "waiting: the first pictures come in" and said[-1] == "ok"
    assert 0.5 <= said.index("ok") / rate_hz <= 0.6


@pytest.mark.parametrize("rate_hz", RATES_HZ)
@pytest.mark.parametrize(
    ("what", "words"), [({"lost": always}, "no picture yet"), ({"scored": False}, "no picture was scored yet (scorer down)")]
)
def test_a_monitor_that_never_starts_waits_three_seconds_and_is_blind(rate_hz, what, words):
    said = Story(rate_hz).play(5.0, trouble="scorer down" if "scored" in what else "", **what)
    assert said[0] == f"waiting: {words}" and said[-1] == f"blind: {words}"
    assert 3.0 <= [each.startswith("blind") for each in said].index(True) / rate_hz <= 3.1


def test_one_lost_and_one_repeated_frame_are_nothing(story):
    number = story.tick + 5
    assert set(story.play(2.0, lost=lambda tick: tick == number)) == {"ok"}
    number = story.tick + 5
    assert set(story.play(2.0, repeated=lambda tick: tick == number)) == {"ok"}


def test_a_tenth_of_the_pictures_lost_is_well_up_to_three_quarters_doubtful_and_more_blind(story):
    assert set(story.play(20.0, lost=lambda tick: tick % 10 == 0)) == {"ok"}
    for lossy in ({"lost": lambda tick: tick % 3 == 0}, {"repeated": lambda tick: tick % 4}):
        said = story.play(3.0, **lossy)
        assert any(each.startswith("doubtful: only ") for each in said) and not any(each.startswith("blind") for each in said)
    assert any(each.startswith("blind: only ") for each in story.play(3.0, repeated=lambda tick: tick % 8))


def test_no_picture_and_no_scores_are_told_by_the_clock(story):
    assert 0.2 <= story.seconds_until("blind: no picture for 0.", 1.0, lost=always) <= 0.31
    story.play(3.0)
    late = story.play(2.0, scored=False, unsure="the scorer is down and starts again")
    assert late[0] == "doubtful: the scorer is down and starts again"
    assert 1.39 <= [each.startswith("blind: no picture was scored for 1.") for each in late].index(True) / story.rate_hz <= 1.6


def test_a_camera_that_repeats_itself_and_a_picture_that_stands_still_are_blind_after_half_a_second(story):
    assert 0.39 <= story.seconds_until("blind: the camera repeats old", 1.0, repeated=always) <= 0.5
    story.play(3.0)
    assert 0.39 <= story.seconds_until("blind: the picture does not change although", 1.0, still=True) <= 0.51


def test_who_has_been_blind_is_doubtful_for_a_while(story):
    story.play(1.0, lost=always)
    said = story.play(2.0)
    assert said[-1] == "ok" and any(each.startswith("doubtful: ") for each in said)
    assert 0.5 <= said.index("ok") / story.rate_hz <= 1.3


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_standing_car_may_see_a_still_picture_and_has_two_seconds_to_get_going(rate_hz):
    parked = Story(rate_hz, throttle=0.0)
    assert parked.play(10.0, still=True)[-1] == "ok"
    said = parked.play(3.0, still=True, throttle=0.3)
    assert 1.9 <= [each.startswith("blind") for each in said].index(True) / rate_hz <= 2.05
    started = Story(rate_hz, throttle=0.0)
    started.play(2.0, still=True)
    assert set(started.play(1.5, still=True, throttle=0.3)) == {"ok"} == set(started.play(5.0, throttle=0.3))


def test_a_pilot_that_pulses_its_throttle_hides_no_frozen_picture(story):
    said = []
    for tick in range(3 * story.rate_hz):
        said += story.play(1.0 / story.rate_hz, still=True, throttle=0.4 * (tick % 2))
    assert any(each.startswith("blind") for each in said[: round(1.3 * story.rate_hz)])


def test_a_simulator_without_noise_shows_a_standing_car_the_same_bytes():
    assert Story(20, throttle=0.0, noise_free=True).play(10.0, repeated=always)[-1] == "ok"
    assert Story(20, throttle=0.0).play(10.0, repeated=always)[-1].startswith("blind")
    driven = Story(20, throttle=0.4, noise_free=True)
    driven.play(3.0)
    assert driven.seconds_until("blind", 1.0, repeated=always, still=True) <= 0.55


def test_a_camera_that_is_slower_than_the_loop_gives_what_it_can():
    slow = Story(60, share=0.5)
    assert slow.play(10.0, repeated=lambda tick: tick % 2)[-1] == "ok"


def test_nothing_of_a_drive_is_known_in_the_next(story):
    story.health.reset()
    story.last = Glance(0.0, math.nan, math.nan, math.nan, math.nan, 0.3)
    story.tick = 0
    assert story.play(0.2)[-1].startswith("waiting")
