"""python -m studies protocols."""

import pytest

from donkey_aicc.nets.camera_nets import PilotNet
from donkey_aicc.nets.vision_pilot import save_pilot
from studies.__main__ import main


@pytest.fixture
def pilot(tmp_path):
    save_pilot(tmp_path / "pilot", PilotNet(), {})
    return str(tmp_path / "pilot")


def test_the_table_has_a_row_per_severity_and_a_verdict(pilot, capsys):
    code = main(
        ["protocols", "--model", pilot, "--track", "oval", "--seeds", "1", "--frames", "2", "--workers", "1", "--only", "bias"]
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["protocol", "severity", "mean", "|cte|", "+-", "error", "departed"]
    assert [line.split()[:2] for line in lines[2:7]] == [["bias", str(severity)] for severity in range(1, 6)]
    assert lines[1].startswith("nominal") and lines[7].startswith("bias: ")
    assert code == (0 if lines[7].endswith("grows with severity") and "NOT" not in lines[7] else 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seeds", "0"], "--seeds must be >= 1, got 0"),
        (["--model", "nobody"], "no model 'nobody'"),
        (["--track", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_named_before_any_driving(arguments, words, capsys):
    assert main(["protocols", *arguments]) == 2
    assert words in capsys.readouterr().err
