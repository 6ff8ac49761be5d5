"""The command line: parse, call, and turn a user's mistake into one line and exit code 2."""

import argparse
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import donkey_aicc
from donkey_aicc import cli
from donkey_aicc.errors import AiccError, ConfigError

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.fixture
def add_command(monkeypatch):
    """Register a command whose `run` is the given function."""

    def add(run, name="try-out"):
        module = types.ModuleType(f"donkey_aicc.commands.{name.replace('-', '_')}")
        module.add_arguments = lambda parser: parser.add_argument("--count", type=int, default=1)
        module.run = run
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli.COMMANDS, name, "try something out")

    return add


def test_the_exit_code_is_what_the_command_returns(add_command):
    add_command(lambda args: args.count)
    assert cli.main(["try-out"]) == 1
    assert cli.main(["try-out", "--count", "7"]) == 7


@pytest.mark.parametrize("error", [AiccError, ConfigError])
def test_a_users_mistake_is_one_line_and_exit_code_2(add_command, capsys, error):
    def run(args):
        raise error("AICC_FROZEN_S must be >= 0.05, got 0")

    add_command(run)
    assert cli.main(["try-out"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "donkey-aicc try-out: AICC_FROZEN_S must be >= 0.05, got 0\n"


def test_a_bug_is_not_hidden(add_command):
    def run(args):
        raise KeyError("a mistake of ours")

    add_command(run)
    with pytest.raises(KeyError):
        cli.main(["try-out"])


def test_ctrl_c_ends_with_130_and_no_traceback(add_command, capsys):
    def run(args):
        raise KeyboardInterrupt

    add_command(run)
    assert cli.main(["try-out"]) == 130
    assert capsys.readouterr().err == "donkey-aicc try-out: interrupted\n"


def test_an_unknown_command_is_told_what_there_is(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["no-such-command"])
    assert stop.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_no_command_lists_them_all(capsys):
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in cli.COMMANDS)


def test_the_same_from_a_shell():
    result = subprocess.run([sys.executable, "-m", "donkey_aicc", "no-such-command"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "no-such-command" in result.stderr
    assert "createcar" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_and_version(capsys):
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as stop:
            cli.main([option])
        assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in cli.COMMANDS)
    assert f"donkey_aicc {donkey_aicc.__version__}" in printed


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_command_explains_itself(capsys, name):
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert f"donkey-aicc {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_option_of_a_command_has_help(name):
    parser = cli.build_parser(name)
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    silent = [action.dest for action in commands.choices[name]._actions if not action.help]
    assert silent == [], f"donkey-aicc {name}: no help text for {silent}"


def test_the_readme_lists_every_command_and_no_other():
    rows = dict(re.findall(r"^\| `donkey-aicc ([\w-]+)` \| (.+?) \|$", README.read_text(encoding="utf-8"), re.MULTILINE))
    missing = [f"| `donkey-aicc {name}` | {line} |" for name, line in cli.COMMANDS.items() if rows.get(name) != line]
    assert missing == [], "rows to put into the table in README.md:\n" + "\n".join(missing)
    assert list(rows) == list(cli.COMMANDS), "README.md lists commands that do not exist, or in another order than COMMANDS"


def test_threads_that_wait_sleep_unless_somebody_chose_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    cli.let_waiting_threads_sleep()
    assert os.environ["GOMP_SPINCOUNT"] == "7"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    cli.let_waiting_threads_sleep()
    assert os.environ["GOMP_SPINCOUNT"] == "1000"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    cli.let_waiting_threads_sleep()
    assert "GOMP_SPINCOUNT" not in os.environ
