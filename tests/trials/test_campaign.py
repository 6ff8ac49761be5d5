"""A campaign of trials: the same again, gone on with after an interruption, in three tables that agree."""

import csv

import pytest

from donkey_aicc.cli import main
from donkey_aicc.errors import AiccError
from donkey_aicc.trials import campaign as told
from donkey_aicc.trials.campaign import Campaign, run_campaign, summary
from donkey_aicc.trials.one_trial import FRAME_COLUMNS, Trial, run_trial
from tests.monitor_under_test import add_calibrator, make_bundle

TABLES = (told.TRIALS, told.FRAMES, told.SUMMARY)
SMALL = Campaign(agents=("expert",), faults=("", "bias:5@1s"), n=2, frames=60, seed=3)


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_tables_agree_and_an_interrupted_campaign_ends_the_same(tmp_path, monkeypatch):
    run_campaign(SMALL, tmp_path / "whole")
    trials, frames = rows_of(tmp_path / "whole" / told.TRIALS), rows_of(tmp_path / "whole" / told.FRAMES)
    assert [row["faults"] for row in trials] == ["", "", "bias:5@1s", "bias:5@1s"] and list(frames[0])[1:] == list(FRAME_COLUMNS)
    for row in trials:
        own = [frame for frame in frames if frame["trial"] == row["trial"]]
        assert len(own) == int(row["frames"]) and row["laps"] == own[-1]["lap"]
        assert row["fault_s"] == ("" if row["faults"] == "" else "1.0") and own[25]["fault"] == row["faults"][:4]
    starts = {(frame["trial"], frame["x"], frame["y"]) for frame in frames if frame["tick"] == "0"}
    assert len({place for _, *place in map(tuple, starts) for place in [tuple(place)]}) == 2, (
        "two places, each for both conditions"
    )

    drive, calls = told.run_trial, []

    def interrupted(trial):
        calls.append(trial)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return drive(trial)

    monkeypatch.setattr(told, "run_trial", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_campaign(SMALL, tmp_path / "cut")
    assert len(list((tmp_path / "cut" / told.PARTS).iterdir())) == 2
    run_campaign(SMALL, tmp_path / "cut")
    assert len(calls) == 5, "what was done is not driven again"
    for name in TABLES:
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with pytest.raises(AiccError, match="trials of another plan .n differ."):
        run_campaign(Campaign(("expert",), ("", "bias:5@1s"), 3, frames=60, seed=3), tmp_path / "cut")


def test_the_monitor_watches_and_its_governor_stops_the_car(tmp_path):
    bundle = make_bundle(tmp_path / "bundle")
    add_calibrator(bundle, alarm=True)
    watched = Trial("expert", "dark:5@1s", 0, "loop", 3, 80, str(bundle), governor="stop")
    row, frames = run_trial(watched)
    assert row["danger_s"] >= 1.0 and row["stopped_s"] >= row["danger_s"] and row["left_lane_s"] == ""
    throttles = [frame[FRAME_COLUMNS.index("throttle")] for frame in frames]
    assert max(throttles[:15]) > 0.2 and max(throttles[-10:]) <= 0.0
    assert run_trial(watched) == (row, frames), "the same again"


def test_the_summary_counts():
    usual = {"agent": "a", "faults": "", "laps": 2, "left_lane_s": "", "danger_s": "", "stopped_s": ""}
    rows = [usual, {**usual, "left_lane_s": 5.0, "danger_s": 3.5}, {**usual, "left_lane_s": 5.0, "danger_s": 6.0}]
    rows.append({**usual, "danger_s": 1.0, "stopped_s": 2.0})
    line = summary(rows).splitlines()[-1]
    assert line.startswith(
        "| a | none | 4 | 2.00 (2.00-2.00) | 2 of 4 (0.15-0.85) | 1 of 2 (0.09-0.91) | 1.50 (1.50-1.50) | 1 of 2"
    )
    assert line.endswith("| 1 of 4 (0.05-0.70) |")


def test_from_the_command_line_with_two_processes(tmp_path, capsys):
    command = [
        "trials",
        "--n",
        "1",
        "--agents",
        "expert,pilot",
        "--frames",
        "30",
        "--workers",
        "2",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "| expert | none | 1 |" in said and "| pilot | none | 1 |" in said and "frames.csv" in said
    for wrong, reason in (
        (["--n", "0"], "--n must be >= 1"),
        (["--agents", "nobody"], "no model 'nobody'"),
        (["--faults", "smoke:1"], "fault must be one of"),
        (["--track", "ovale"], "track must be one of"),
        (["--governor", "stop"], "needs a monitor"),
        (["--bundle", "nowhere"], "no bundle at nowhere"),
        (["--workers", "0"], "--workers must be >= 1"),
    ):
        assert main([*command, *wrong]) == 2
        assert reason in capsys.readouterr().err
