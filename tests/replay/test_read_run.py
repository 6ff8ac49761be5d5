"""A tub of any car -> columns with the cockpit's names."""

import json

import numpy as np
import pytest

from donkey_aicc.errors import AiccError
from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.run import Run
from donkey_aicc.scoring.score_table import HORIZONS
from tests.replay.recorded_tub import FRAMES, OUT, write_tub, write_v1_tub


def test_a_monitored_drive_comes_with_all_it_recorded(tmp_path):
    run = read_run(write_tub(tmp_path / "tub"))
    assert len(run) == FRAMES and run.horizons == HORIZONS and run.rate_hz == pytest.approx(20.0)
    assert run.scores_from == "recorded during the drive"
    assert run.numbers["confidence"].shape == (FRAMES, len(HORIZONS))
    assert run.numbers["steering"][15] == pytest.approx(0.5, abs=0.01) and run.has_position
    assert run.words["alarm"][31] == "danger" and run.words["reason"][25].startswith("the picture")
    assert np.flatnonzero(run.departed == 1.0).tolist() == list(range(OUT.start, OUT.stop))


def test_a_plain_car_of_version_1_has_only_what_it_recorded(tmp_path):
    run = read_run(write_v1_tub(tmp_path / "old"))
    assert len(run) == 10 and set(run.numbers) == {"steering", "throttle"}
    assert not run.scores_from and not run.has_position and np.isnan(run.departed).all()
    assert np.diff(run.t) == pytest.approx(0.05)


def test_long_pauses_are_cut_short_and_deleted_records_left_out(tmp_path):
    tub = write_tub(tmp_path / "tub")
    lines = [json.loads(line) for line in (tub / "catalog_0.catalog").read_text().splitlines()]
    for line in lines[30:]:
        line["_timestamp_ms"] += 3_600_000
    (tub / "catalog_0.catalog").write_text("".join(json.dumps(line) + "\n" for line in lines))
    manifest = (tub / "manifest.json").read_text().replace('"deleted_indexes": []', '"deleted_indexes": [0, 1]')
    (tub / "manifest.json").write_text(manifest)
    run = read_run(tub)
    assert run.index[0] == 2 and len(run) == FRAMES - 2
    assert run.t[-1] < FRAMES / 20 + 2 and 1 < np.diff(run.t).max() < 2


def test_a_simulated_record_lasts_what_its_world_says_however_slow_the_computer_was(tmp_path):
    tub = write_tub(tmp_path / "tub")
    lines = [json.loads(line) for line in (tub / "catalog_0.catalog").read_text().splitlines()]
    for row, line in enumerate(lines):
        line["_timestamp_ms"] += 50 * row
    (tub / "catalog_0.catalog").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_run(tub).rate_hz == pytest.approx(10.0)
    inputs, types, noted, *rest = (tub / "manifest.json").read_text().splitlines()
    noted = json.dumps(json.loads(noted) | {"step_s": "0.05"})
    (tub / "manifest.json").write_text("\n".join([inputs, types, noted, *rest]) + "\n")
    run = read_run(tub)
    assert run.rate_hz == pytest.approx(20.0) and np.diff(run.t) == pytest.approx(0.05)


def test_probabilities_at_unknown_horizons_are_left_out_and_named(tmp_path):
    tub = write_tub(tmp_path / "tub")
    lines = [json.loads(line) for line in (tub / "catalog_0.catalog").read_text().splitlines()]
    for line in lines:
        for key in ("aicc/p_safe", "aicc/p_tta", "aicc/confidence"):
            line[key] = line[key][:4]
    (tub / "catalog_0.catalog").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = read_run(tub)
    assert run.horizons == () and "confidence" not in run.numbers and "--bundle" in run.notes[0]
    assert run.has("rho")


def test_the_main_horizon_is_nearest_to_a_second():
    rows = np.arange(3)
    run = Run(None, "", rows, rows * 0.1, 10.0, [], {}, {}, np.full(3, np.nan), horizons=(1, 5, 9, 20))
    assert run.main_horizon == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(), "no tub at"),
        (lambda path: write_tub(path, frames=0), "no record to show"),
        (lambda path: write_tub(path, pictures=False), "no camera pictures"),
        (lambda path: write_tub(path, without=("cam/image_array",)), "no camera pictures"),
        (lambda path: (write_tub(path / "a"), write_tub(path / "b")), "holds 2 tubs"),
    ],
)
def test_what_cannot_be_shown_is_said(tmp_path, make, said):
    make(tmp_path / "tub")
    with pytest.raises(AiccError, match=said):
        read_run(tmp_path / "tub")
