"""AICC-R beside the other rows of one experiment: numbers, goals, and the section of the results page."""

import json
from dataclasses import replace

import numpy as np
import pytest

from donkey_aicc.scoring.score_table import concatenate
from studies import restored_rows
from studies.restored_page import experiment_table, restored_section
from tests.synthetic_scores import synthetic_table

ROWS = ("none", "temperature", "tta_rho_delta", "restored", "aicc_r")
HORIZONS = (1, 5, 20)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    faults = {"weights": (1.5, 1.5), "shift": 1.0, "severity": 3}
    calibration, test = (synthetic_table(rng, 6, 120, HORIZONS, prefix=name) for name in ("c", "t"))
    piece = synthetic_table(rng, 6, 60, HORIZONS, protocol="fog", **faults)
    pieces = replace(piece, sequence=np.repeat([f"{name}~fog~3" for name in calibration.sequences()], 60))
    driven = concatenate([synthetic_table(rng, 2, 120, HORIZONS, protocol=family, **faults) for family in ("fog", "grip")])
    ood = {}
    for protocol in ("dark", "bias"):
        table = synthetic_table(rng, 4, 120, HORIZONS, protocol=protocol, **faults)
        sees = np.where(table.labels > 0.5, 0.97, 0.03).astype(np.float32)  # the restored view sees what the plain one does not
        ood[protocol] = replace(table, p_restored=sees, restored=np.ones(len(table))) if protocol == "dark" else table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restored_rows, "COMPARED", ROWS)
        return restored_rows.restored_rows(calibration, pieces, driven, test, ood, seed=0)


def test_every_row_has_numbers_and_its_gain(found):
    assert tuple(found["rows"]) == ROWS
    mine, paper = found["rows"]["aicc_r"], found["rows"]["tta_rho_delta"]
    assert mine["nll"]["dark"]["value"] < paper["nll"]["dark"]["value"] and "gain" not in mine
    assert paper["gain"]["ood_nll"]["high"] < 0.0  # AICC-R's NLL minus the paper's, every resample
    assert set(mine["weights"]) == {"rho", "delta", "hindsight"} and len(mine["by_share"]) == 13
    assert found["sees"]["dark"]["restored"]["value"] == 1.0 > found["sees"]["dark"]["plain"]["value"]


def test_goals_say_what_was_measured(found):
    by_goal = {one["goal"]: one for one in found["goals"]}
    assert len(by_goal) == 6
    dark = next(one for goal, one in by_goal.items() if goal.startswith("AUROC"))
    assert dark["reached"] and dark["measured"] == "1.000"
    worse = json.loads(json.dumps(found["rows"]))
    worse["none"]["ece"]["ood_mean"]["value"] = 0.0
    told = restored_rows.goals(worse, found["sees"])
    assert next(one for one in told if one["goal"].startswith("below every"))["measured"].startswith("not below none")


def test_the_section_of_the_page(found, tmp_path):
    about = {"track": "oval", "model_seed": 1, "preset": "light"}
    assert restored_section(tmp_path) == ""
    (tmp_path / "restored").mkdir()
    (tmp_path / "restored" / "oval-1.json").write_text(json.dumps({"about": about} | found))
    text = restored_section(tmp_path)
    assert "### oval, model seed 1, size light" in text and "| **AICC-R** |" in text and "**missed**" in text
    assert experiment_table({"about": about} | found).count("| Goal |") == 1
