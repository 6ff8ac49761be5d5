import json

from donkey_aicc.parts.drive_log import DriveLog


def test_a_line_per_lap_and_a_summary_beside_the_records(tmp_path, capsys):
    laps = []
    log = DriveLog(tmp_path, lambda: tuple(laps))
    for tick in range(20):
        if tick == 9:
            laps.append(4.5)
        log.run(-0.1 if tick < 10 else 0.3, hit=tick == 19)
    assert capsys.readouterr().out == "lap 1: 4.50 s, mean |cte| 0.100 m\n"
    log.shutdown()
    assert "drive: 20 loops" in capsys.readouterr().out
    summary = json.loads((tmp_path / "drive.json").read_text())
    assert (summary["loops"], summary["lap_times_s"], summary["wall_hits"]) == (20, [4.5], 1)
    assert (summary["mean_abs_cte_m"], summary["max_abs_cte_m"]) == (0.2, 0.3)
    assert summary["loop_ms_p99"] >= 0


def test_a_real_car_knows_neither_laps_nor_errors(tmp_path):
    log = DriveLog(tmp_path)
    log.run(None, None)
    log.shutdown()
    summary = json.loads((tmp_path / "drive.json").read_text())
    assert (summary["loops"], summary["lap_times_s"], summary["mean_abs_cte_m"]) == (1, [], None)


def test_a_drive_that_never_began_leaves_nothing(tmp_path):
    DriveLog(tmp_path).shutdown()
    assert not list(tmp_path.iterdir())
