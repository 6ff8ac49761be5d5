"""What the study's reports have beyond a user's."""

import csv
import json

import pytest

from benchmarks.runtime import measure_runtime, timed_calibrators
from donkey_aicc.errors import AiccError
from donkey_aicc.nets.bundle import Bundle
from donkey_aicc.nets.camera_nets import VAE, SafetyCNN
from donkey_aicc.nets.dynamics import LatentDynamics
from donkey_aicc.nets.manifest import Manifest
from donkey_aicc.nets.trained_nets import Nets, save_bundle
from donkey_aicc.scoring.settings import ScoreSettings
from studies.paper_numbers import PAPER, PAPER_RUNTIME_MS
from studies.study_report import read_results, runtime_table, write_study_report
from tests.evaluation.conftest import HORIZONS


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles") / "small"
    manifest = Manifest(list(HORIZONS), {"mean": [0.0, 0.0], "std": [1.0, 1.0]}, context=10, tau=0.1)
    save_bundle(folder, Nets(VAE(), LatentDynamics(), SafetyCNN(len(HORIZONS))), manifest)
    return Bundle.load(folder)


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_study_report(results, folder)
    return folder


def test_results_json_is_timeless_and_reads_back(report, results):
    assert "runtime" not in json.loads((report / "results.json").read_text(), parse_constant=pytest.fail)
    assert read_results(report) == results
    with pytest.raises(AiccError, match="cannot be read"):
        read_results(report / "nowhere")


def test_the_papers_numbers_stand_in_a_column_beside_ours(report):
    page = (report / "index.html").read_text()
    assert "another car" in page and "Runtime per component" in page and "Imagined frame, classified" in page
    own = ("frontier", "safe_share", "bounds", "early_warning", "lambda", "runtime")
    assert all(f'id="table-{name}"' in page for name in own) and 'id="figure-frontier"' in page
    with (report / "tables" / "ece_by_protocol.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert rows["Ours (TTA + rho + delta)"]["dark_paper"] == "0.165"
    assert rows["DAC (appendix)"]["ood_mean_paper"] == "0.184"
    assert rows["TTA + |log rho|"]["dark_paper"] == ""


def test_runtime_has_every_component(bundle, tables):
    fitted = timed_calibrators(tables.calibration, tables.augmented)
    small = ScoreSettings(samples=2, rollout_steps=2, rollout_every=2, context=10, views=2)
    found = measure_runtime(bundle, fitted, small, repeats=1)["components_ms"]
    assert set(found) >= set(PAPER_RUNTIME_MS) and all(value >= 0.0 for value in found.values())
    parts = ("vae_encode_context", "dynamics_deterministic", "vae_decode", "predictor", "calibrate_temperature")
    assert found["cold_start_base"] == pytest.approx(sum(found[part] for part in parts))
    assert found["cold_start_full"] > found["cold_start_tta"] > found["cold_start_base"] - found["predictor"]
    table = runtime_table({"device": "this", "components_ms": found}, PAPER)
    assert all(row.values["ms"].number is not None for row in table.rows) and "No number" not in table.note
    assert "No number" in runtime_table({"components_ms": {"tta": 1.0}}, PAPER).note
