"""The progress display: plain lines where no terminal is, a bar on one."""

import io
import re
import sys

import pytest

from donkey_aicc import progress as progress_module
from donkey_aicc.progress import Progress, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def every_step_prints(monkeypatch):
    monkeypatch.setattr(progress_module, "LINE_EVERY_S", 0.0)


def test_lines_carry_count_rate_time_left_and_values(every_step_prints, capsys):
    with Progress("scoring", total=4, unit="frame") as bar:
        bar.advance(1, loss=0.123456, phase="fit")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"scoring: 1/4 frame, \d+\.\d frame/s, \d+ s left, loss 0\.1235, phase fit\n", printed.err)


def test_without_a_total_no_time_left_is_promised(every_step_prints, capsys):
    with Progress("driving") as bar:
        bar.advance(3)
    assert re.fullmatch(r"driving: 3 it, \d+\.\d it/s\n", capsys.readouterr().err)


def test_short_work_prints_no_lines(capsys):
    assert list(progress([1, 2, 3], "short")) == [1, 2, 3]
    assert capsys.readouterr().err == ""


def test_the_total_comes_from_the_length(every_step_prints, capsys):
    assert list(progress(["a", "b"], "reading")) == ["a", "b"]
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" it")[0] for line in lines] == ["reading: 1/2", "reading: 2/2"]


def test_a_generator_needs_no_length(every_step_prints, capsys):
    assert list(progress((n for n in range(2)), "reading")) == [0, 1]
    assert "reading: 2 it" in capsys.readouterr().err


def test_a_terminal_gets_a_bar_with_values(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("training", total=2) as bar:
        bar.advance(1, loss=0.5)
        bar.advance(1, loss=0.25)
    assert "training" in terminal.getvalue()
    assert "\n" not in terminal.getvalue()


def test_the_bar_is_closed_when_the_loop_breaks(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(RuntimeError), Progress("training", total=2) as bar:
        bar.advance()
        raise RuntimeError("stop")
    # tqdm wipes a bar that is not left standing: the last thing drawn is a blank line.
    assert terminal.getvalue().endswith("\r")
