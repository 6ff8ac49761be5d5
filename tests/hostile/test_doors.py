"""Whatever a stranger hands us gives a right result or one message of ours: 500 cases in CI, 20,000 in the slow suite."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donkey_aicc.errors import AiccError
from tests.hostile.doors import DOORS, all_doors

CI_CASES, SLOW_CASES = 500, 20_000
LONGEST_MESSAGE = 500
MOST_SECONDS = 5


@pytest.fixture(scope="session")
def doors(tmp_path_factory):
    return all_doors(tmp_path_factory.mktemp("doors"))


def knock(door, cases: int, same_cases: bool) -> None:
    """Try that many cases at one door, the same ones each time or new ones; hypothesis shows the smallest that gets through."""

    @settings(
        max_examples=cases,
        deadline=1000 * MOST_SECONDS,
        database=None,
        derandomize=same_cases,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def attempt(data):
        case = data.draw(door.cases)
        try:
            door.load(case)
        except AiccError as error:
            assert 0 < len(str(error)) < LONGEST_MESSAGE

    attempt()


def test_every_door_is_listed(doors):
    assert tuple(doors) == DOORS


@pytest.mark.parametrize("name", DOORS)
def test_a_bad_file_gives_one_message(doors, name):
    knock(doors[name], CI_CASES // len(DOORS), same_cases=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOORS)
def test_twenty_thousand_bad_files_give_one_message_each(doors, name):
    knock(doors[name], SLOW_CASES // len(DOORS), same_cases=False)
