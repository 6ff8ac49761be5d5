"""Scores computed on the spot are those of `donkey-aicc score`, and are kept for the next time.

A bundle's alarm over a recorded drive: what it would have said on the car.
"""

import base64
import json
import shutil
from argparse import Namespace

import cv2
import numpy as np
import pytest

from donkey_aicc.alarm.alarm_fit import NominalDrives, fit_alarm
from donkey_aicc.calibration.anomaly_temperature import AnomalyTemperature
from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.car.bundles import safe_in_words
from donkey_aicc.commands.replay import _load_one
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.replay.pictures import Heat
from donkey_aicc.replay.read_run import read_run
from donkey_aicc.replay.score_run import alarm_again, require_scores, score_run
from donkey_aicc.resources import models_dir
from donkey_aicc.scoring import parallel
from donkey_aicc.scoring.statistics import ScoreStatistics
from donkey_aicc.simulator.record_drives import world_at_start
from donkey_aicc.tubs.load import load_drives
from tests.alarm.alarm_tables import alarm_table
from tests.monitor_under_test import CONTEXT, HORIZONS, SETTINGS, add_calibrator, make_bundle
from tests.replay.recorded_tub import write_tub

FRAMES = 17


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """(run, bundle, cache folder) of a tub without scores; its record 10 has a damaged picture."""
    folder = tmp_path_factory.mktemp("score")
    tub = write_tub(folder / "tub", FRAMES, scored=False)
    (tub / "images" / "10_cam_image_array_.jpg").write_bytes(b"")
    path = make_bundle(folder / "bundle")
    add_calibrator(path)
    bundle = Bundle.load(path)
    return score_run(read_run(tub), bundle, folder / "cache"), bundle, folder / "cache"


def test_scores_are_those_of_the_score_command(scored):
    run, bundle, cache = scored
    drives = load_drives([run.tub], tau=None, cache_dir=cache).drives
    table = parallel.score_drives(bundle, drives, settings=SETTINGS)
    rows = np.searchsorted(run.index, table.index)
    np.testing.assert_allclose(run.numbers["p_safe"][rows], table.p_safe, atol=1e-5)
    valid = table.valid.astype(bool)
    expected = load_calibrator(bundle).predict(table.select(valid))
    np.testing.assert_allclose(run.numbers["confidence"][rows[valid]], expected, atol=1e-5)
    assert run.horizons == HORIZONS and "computed with bundle bundle" in run.scores_from


def test_frames_without_a_score_say_why(scored):
    run, _, _ = scored
    status = run.words["status"]
    assert status[0] == "warming up" and "ok" in status
    assert np.isnan(run.numbers["confidence"][: CONTEXT - 1]).all()
    assert run.numbers["p_safe"][10].tolist() == run.numbers["p_safe"][9].tolist(), "the picture before stands for a lost one"


def test_the_second_time_nothing_is_scored(scored, monkeypatch):
    run, bundle, cache = scored
    monkeypatch.setattr(parallel, "score_drives", lambda *_, **__: pytest.fail("scored again"))
    again = score_run(read_run(run.tub), bundle, cache)
    np.testing.assert_array_equal(again.numbers["rho"], run.numbers["rho"])


def test_a_damaged_cache_is_computed_again(scored):
    run, bundle, cache = scored
    (stored,) = (cache / "scores").glob("*.npz")
    stored.write_bytes(stored.read_bytes()[:100])
    np.testing.assert_allclose(score_run(read_run(run.tub), bundle, cache).numbers["rho"], run.numbers["rho"], atol=1e-5)


def test_a_bundle_without_calibrator_gives_probabilities_only(scored, tmp_path):
    run, _, cache = scored
    found = score_run(read_run(run.tub), Bundle.load(make_bundle(tmp_path / "raw")), cache)
    assert found.has("p_safe") and not found.has("confidence") and not found.has("rho")
    assert "donkey-aicc calibrate" in found.notes[0]


def test_the_heat_map_needs_a_picture(scored):
    run, bundle, _ = scored
    heat = Heat.of(bundle)
    assert len(heat.of_row(run, 0)) == 344 and heat.of_row(run, 10) is None


def test_a_sticker_on_the_road_glows_and_the_road_does_not(tmp_path):
    heat = Heat.of(Bundle.load(models_dir() / "reference"))
    run = read_run(write_tub(tmp_path / "tub", 1))
    frame = world_at_start("loop", 3).observe().image.copy()

    def glow():
        cv2.imwrite(run.image_paths[0], cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
        return np.frombuffer(base64.b64decode(heat.of_row(run, 0)), np.uint8).reshape(16, 16)

    assert abs(glow() - 128.0).mean() < 10  # as usual
    rows, columns = slice(72, 96), slice(30, 60)  # of 120 x 160
    frame[rows, columns] = (255, 40, 200)
    found = glow()
    inside = found[10:12, 3:6]
    assert inside.min() > 200 and found.mean() - 128 < 0.3 * (inside.mean() - 128)


def test_without_scores_and_bundle_it_says_what_to_do(tmp_path):
    with pytest.raises(AiccError, match="--bundle reference"):
        require_scores(read_run(write_tub(tmp_path / "tub", 3, scored=False)))


def test_a_simulators_bundle_on_another_cars_drive_is_said(scored, tmp_path):
    run, bundle, cache = scored
    args = Namespace(cache_dir=str(cache), grade=None)
    found = _load_one(args, str(run.tub), str(bundle.path), None)[0]
    assert "simulator" not in str(found.notes) and found.safe == safe_in_words(bundle.manifest) != ""
    simulated = shutil.copytree(bundle.path, tmp_path / "simulated")
    manifest = json.loads((simulated / "manifest.json").read_text())
    (simulated / "manifest.json").write_text(json.dumps(manifest | {"data": {"homes": ["the embedded simulator"]}}))
    assert _load_one(args, str(run.tub), str(simulated), None)[0].notes[-1].startswith("WARNING: the bundle")


@pytest.mark.parametrize(("bundle_given", "said"), [(True, "no grade light, only full"), (False, "--grade light needs")])
def test_a_grade_that_cannot_be_had_is_said(scored, bundle_given, said):
    run, bundle, cache = scored
    with pytest.raises(AiccError, match=said):
        _load_one(Namespace(cache_dir=str(cache), grade="light"), str(run.tub), str(bundle.path) if bundle_given else None, None)


DARK = (150, 220)


@pytest.fixture(scope="module")
def calibrator():
    nominal = alarm_table(np.random.default_rng(0))
    found = AnomalyTemperature()
    found.statistics = ScoreStatistics.fit(nominal)
    driven = alarm_table(np.random.default_rng(1), dark=(100, 300), departs_after=60, prefix="driven")
    fresh = alarm_table(np.random.default_rng(2), 12, prefix="fresh")
    found.alarm = fit_alarm(nominal, found.statistics, NominalDrives(fresh=fresh), driven)
    return found


def test_danger_when_it_goes_dark_in_every_drive(calibrator):
    table = alarm_table(np.random.default_rng(7), 2, dark=DARK, drive_spread=0.1)
    numbers, words = alarm_again(table, calibrator)
    for name in table.sequences():
        own = np.flatnonzero(table.sequence == name)
        first = int(np.flatnonzero(words["alarm"][own] == "danger")[0])
        assert DARK[0] <= first < DARK[0] + 12 and "darker" in words["reason"][own][170]
    assert numbers["hazard"].shape == (len(table), len(table.horizons)) and np.isfinite(numbers["hazard"]).all()


def test_a_bundle_without_an_alarm_says_nothing():
    assert alarm_again(alarm_table(np.random.default_rng(7), 1), AnomalyTemperature()) == ({}, {})
