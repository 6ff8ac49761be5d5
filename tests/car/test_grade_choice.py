"""Which grade the car starts with: the best that fits in half of a tick."""

import pytest

from donkey_aicc.car import monitor_loading
from donkey_aicc.car.monitor_loading import choose_grade
from donkey_aicc.scoring.settings import GRADES, ScoreSettings

EVERY = [ScoreSettings().at_grade(grade) for grade in GRADES]
TICK_S = 0.05


@pytest.fixture
def costs(monkeypatch):
    """Milliseconds per frame by grade; asking for a grade that is not in it fails."""
    given: dict[str, float] = {}
    monkeypatch.setattr(monitor_loading, "frame_ms", lambda bundle, settings: given[settings.grade])
    return given


@pytest.mark.parametrize(
    ("ms", "grade", "fits"),
    [
        ({"full": 24, "half": 8, "light": 4}, "full", True),
        ({"full": 40, "half": 8, "light": 4}, "half", True),
        ({"half": 30, "light": 20}, "light", True),  # where half is too slow, full is not even tried
        ({"light": 26}, "light", False),
    ],
)
def test_the_best_that_fits_in_half_of_the_tick(costs, ms, grade, fits):
    costs |= ms
    choice = choose_grade(None, EVERY, TICK_S)
    assert (choice.grade, choice.fits, bool(choice.too_slow)) == (grade, fits, not fits)
    assert str(choice).startswith(f"grade {grade}, measured light ") and str(choice).endswith("ms a frame of 50")


def test_a_bundle_with_one_grade_keeps_it_and_says_that_it_is_too_slow(costs):
    costs["full"] = 60
    choice = choose_grade(None, EVERY[:1], TICK_S)
    assert choice.grade == "full"
    assert choice.too_slow == (
        "grade full, the only one fitted, takes 60 ms of a tick of 50, more than half: this computer may skip frames"
    )
