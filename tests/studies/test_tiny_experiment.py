"""The whole experiment through the real command line, small enough for every commit."""

import json
import os
import subprocess
import sys

import pytest

import studies.__main__ as studies
from donkey_aicc.calibration.calibrator_file import load_calibrator
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from studies.transfer import plan_transfer


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    return folder / "exp", run_tiny(folder / "exp")


def run_tiny(out, *options):
    command = [
        sys.executable,
        "-m",
        "studies",
        "experiment",
        "--preset",
        "tiny",
        "--extras",
        "--out",
        str(out),
        "--workers",
        "1",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_from_nothing_to_a_report(finished):
    out, said = finished
    assert [line for line in said.splitlines() if line.startswith("[")][-1] == "[12/12] evaluation and report"
    results = json.loads((out / "report" / "results.json").read_text(encoding="utf-8"))
    assert set(results["data"]) and set(results["base_predictor"])
    assert {"safe_share", "bounds"} <= set(results) and set(results["grades"]) == {"full", "half", "light"}
    assert set(results["predictors"]) == {"direct", "place", "present", "ensemble", "history"}
    assert set(results["safe_share"]["settings"]) and "light" in results["safe_share"]["methods"]
    frozen = json.loads((out / "frozen.json").read_text(encoding="utf-8"))
    assert frozen["experiment"]["track"] == "loop" and len(results["about"]["frozen"]) == 64
    assert (out / "report" / "index.html").stat().st_size > 100_000
    assert json.loads((out / "bundle" / "calibrator.json").read_text(encoding="utf-8"))["grades"]["full"]["name"]


def test_running_it_again_only_evaluates_and_gives_the_same_results(finished):
    out, _ = finished
    report = out / "report" / "results.json"
    before, weights = report.read_bytes(), (out / "bundle" / "vae.safetensors").stat().st_mtime_ns
    run_tiny(out)
    assert report.read_bytes() == before
    assert (out / "bundle" / "vae.safetensors").stat().st_mtime_ns == weights


def test_closed_and_open_loop_are_compared(finished):
    out, said = finished
    compared = json.loads((out / "report" / "open_loop.json").read_text(encoding="utf-8"))
    assert set(compared["faults"]) == {"bias", "latency"} and compared["conclusion"][-1] in said
    assert (out / "report" / "figures" / "open_loop.png").stat().st_size > 10_000


def test_a_transfer_to_its_own_drives_gives_the_experiment_s_own_numbers(finished, tmp_path):
    exp, _ = finished
    command = [sys.executable, "-m", "studies", "transfer", "--bundle-of", str(exp), "--drives-of", str(exp)]
    command += ["--out", str(tmp_path / "own"), "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    own, first = (json.loads((f / "report" / "results.json").read_text(encoding="utf-8")) for f in (tmp_path / "own", exp))
    assert own["about"]["drives"]["track"] == first["about"]["track"]
    assert own["calibration"] == first["calibration"] and own["ood_detection"] == first["ood_detection"]


def test_an_unfinished_experiment_cannot_be_transferred(finished, tmp_path):
    (tmp_path / "exp").mkdir()
    with pytest.raises(AiccError, match="holds no experiment"):
        plan_transfer(tmp_path / "exp", finished[0], tmp_path / "out")
    (tmp_path / "exp" / "experiment.json").write_text("{}", encoding="utf-8")
    with pytest.raises(AiccError, match="manifest.json is missing"):
        plan_transfer(finished[0], tmp_path / "exp", tmp_path / "out")


def test_further_laps_set_the_thresholds_of_its_alarm(finished, tmp_path, monkeypatch):
    out, _ = finished
    monkeypatch.setenv("DONKEY_AICC_CACHE", str(tmp_path / "cache"))
    before = (out / "bundle" / "calibrator.json").read_bytes()
    laps = out / "data" / "nominal"
    assert studies.main(["alarm-drives", "--experiment", str(out), "--laps", str(laps), "--out", str(tmp_path / "bundle")]) == 0
    own, further = (load_calibrator(Bundle.load(path), "light").alarm for path in (out / "bundle", tmp_path / "bundle"))
    assert further.danger != own.danger and further.scales.to_json() == own.scales.to_json()
    assert (out / "bundle" / "calibrator.json").read_bytes() == before
