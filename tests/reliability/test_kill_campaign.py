"""kill -9 at random moments of every command; 50 each with `python -m tests.reliability.kill_campaign COMMAND --times 50`."""

import pytest

from tests.reliability.kill_campaign import COMMANDS, campaign


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("campaign")


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_rerun_after_kill_9_ends_like_an_undisturbed_run(folder, command):
    assert campaign(command, times=3, folder=folder, seed=7)
