"""One object says how scores are computed; every grade is a part of the pass at grade full."""

import json

import pytest

from donkey_aicc.errors import AiccError, ConfigError
from donkey_aicc.scoring.settings import GRADES, ScoreSettings


def test_half_is_a_part_of_full_and_light_needs_no_dynamics():
    full = ScoreSettings(seed=7, views=5)
    half, light = full.at_grade("half"), full.at_grade("light")
    assert half.samples < full.samples and half.rollout_steps < full.rollout_steps
    assert half.rollout_every % full.rollout_every == 0  # its rollouts start where full's do
    assert [full.looks_ahead, half.looks_ahead, light.looks_ahead] == [True, True, False]
    assert {(each.seed, each.views, each.context) for each in (full, half, light)} == {(7, 5, 100)}
    assert full.steps_per_frame == 5 and half.steps_per_frame == 1 and light.steps_per_frame == 0
    small = ScoreSettings(samples=2, rollout_steps=3, rollout_every=3).at_grade("half")
    assert (small.samples, small.rollout_steps) == (2, 3)
    with pytest.raises(ConfigError, match="settings of grade light cannot be turned into grade full"):
        light.at_grade("full")


@pytest.mark.parametrize("grade", GRADES)
def test_comes_back_from_json(grade):
    settings = ScoreSettings(samples=8).at_grade(grade)
    assert ScoreSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    with pytest.raises(AiccError, match="score settings must be a table"):
        ScoreSettings.from_json({"samples": 3})


@pytest.mark.parametrize(
    ("name", "least"), [("samples", 1), ("rollout_steps", 1), ("rollout_every", 1), ("context", 2), ("views", 1)]
)
def test_settings_that_cannot_work_are_refused(name, least):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number >= {least}, got {least - 1}"):
        ScoreSettings(**{name: least - 1})
    with pytest.raises(ConfigError, match=f"{name} must be a whole number"):
        ScoreSettings(**{name: 2.5})


@pytest.mark.parametrize("name", ["samples", "rollout_steps", "rollout_every", "context", "views"])
def test_settings_that_would_hang_the_loop_or_fill_the_memory_are_refused(name):
    """A bundle with a billion steps hung the loop for 17 minutes; ten million views took 2.3 GB."""
    with pytest.raises(ConfigError, match=f"{name} must be at most"):
        ScoreSettings(**{name: 10**6})
    with pytest.raises(ConfigError, match="at most 2000 for each frame, got 50000"):
        ScoreSettings(samples=100, rollout_steps=500, rollout_every=1)
