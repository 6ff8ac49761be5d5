"""The schedule a person writes."""

import pytest

from donkey_aicc.errors import ConfigError
from donkey_aicc.faults.fault import Episode, parse_schedule


@pytest.mark.parametrize(
    ("text", "episodes"),
    [
        (None, ()),
        ("dark:3", (Episode("dark", 3),)),
        (
            "bias:2@10s-25s, blur:4@lap2",
            (Episode("bias", 2, 10.0, 25.0, "s"), Episode("blur", 4, 2.0, 3.0, "lap")),
        ),
        ("latency:1@100-300ticks", (Episode("latency", 1, 100.0, 300.0, "tick"),)),
        ("dark:5@2.5s-", (Episode("dark", 5, 2.5, float("inf"), "s"),)),
        ("dark:5@lap2-4", (Episode("dark", 5, 2.0, 5.0, "lap"),)),
    ],
)
def test_schedule_is_read(text, episodes):
    assert parse_schedule(text) == episodes
    assert parse_schedule(",".join(map(str, episodes)) or None) == episodes


def test_an_episode_is_on_from_its_start_until_before_its_stop():
    timed = Episode("dark", 1, 10.0, 25.0, "s")
    assert [timed.is_due(seconds, 0, None) for seconds in (9.9, 10.0, 24.9, 25.0)] == [False, True, True, False]
    lap = Episode("dark", 1, 2.0, 3.0, "lap")
    assert [lap.is_due(0.0, 0, number) for number in (1, 2, 3, None)] == [False, True, False, False]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("dark", "must start with a fault and a severity"),
        ("dark:", "must start with a fault and a severity"),
        ("smoke:2", "fault must be one of dark, blur, bias, latency, jpeg,"),
        ("dark:9", "severity of dark must be one of 1, 2, 3, 4, 5; got 9"),
        ("dark:3@", "'' is no time"),
        ("dark:3@soon", "'soon' is no time"),
        ("dark:3@10-25s", "'10-25s' is no time"),
        ("dark:3@10-25", "write 10s-25s for seconds, 10-25ticks for ticks"),
        ("", "must start with a fault and a severity"),
        ("dark:3@25s-10s", "it must end after it starts, got 25s-10s"),
        ("dark:3@lap0", "the first lap is lap1"),
        ("dark:3@lap4-2", "it must end after it starts, got lap4-2"),
    ],
)
def test_a_mistake_names_the_piece_the_reason_and_the_form(text, reason):
    with pytest.raises(ConfigError) as raised:
        parse_schedule("blur:1," + text)
    message = str(raised.value)
    assert f"injection {text!r}" in message and reason in message and "FAULT:SEVERITY[@WHEN]" in message


def test_an_entry_that_could_never_show_is_refused_and_the_cockpits_spelling_works():
    with pytest.raises(ConfigError, match="dark:3 would never show, because dark:4 hides it"):
        parse_schedule("dark:3,dark:4")
    with pytest.raises(ConfigError, match="must start with a fault"):
        parse_schedule("")
    assert len(parse_schedule("dark:3,dark:4@10s-20s")) == 2 and parse_schedule(None) == ()
    assert parse_schedule("Salt and pepper:3") == parse_schedule("salt_and_pepper:3")
